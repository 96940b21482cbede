package wire

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire/wirepb"
	"github.com/otel-topk/collector/topk"
)

// definitions decodes each definition of a request once: states of one rule share a pointer.
type definitions map[string]*rule.Definition

// EncodeDefinition encodes d as it travels and as it is stored. An error says which field may not be so.
func EncodeDefinition(d *rule.Definition) ([]byte, error) {
	if err := checkDefinition(d); err != nil {
		return nil, err
	}
	b, err := proto.Marshal(&wirepb.Definition{
		Name:        d.Name,
		Signals:     d.Signals,
		Key:         d.Key,
		GroupBy:     d.GroupBy,
		Weight:      d.Weight,
		WeightScale: d.WeightScale,
		Conditions:  d.Conditions,
		Default:     d.Default,
		Time:        d.Time,
		K:           uint32(d.K),
		MaxKeyBytes: uint32(d.MaxKeyBytes),
		Residents:   uint32(d.Residents),
		Width:       uint32(d.Shape.Width),
		Depth:       uint32(d.Shape.Depth),
		Seed:        d.Shape.Seed,
	})
	if err != nil {
		return nil, fmt.Errorf("rule %q: %w", d.Name, err)
	}
	if len(b) > MaxDefinitionBytes {
		return nil, tooLarge("definition", len(b), MaxDefinitionBytes)
	}
	return b, nil
}

// Definition reads a definition. The error is a *Refusal.
func (b *Bodies) Definition(encoded []byte) (*rule.Definition, error) {
	return b.definitions().decode(encoded)
}

func (known definitions) decode(b []byte) (*rule.Definition, error) {
	if d, ok := known[string(b)]; ok {
		return d, nil
	}
	if len(b) == 0 {
		return nil, refuse(ReasonInvalid, "definition: missing")
	}
	if len(b) > MaxDefinitionBytes {
		return nil, tooLarge("definition", len(b), MaxDefinitionBytes)
	}
	var m wirepb.Definition
	if err := decode(b, &m); err != nil {
		return nil, err
	}
	d := &rule.Definition{
		Name:        m.Name,
		Signals:     m.Signals,
		Key:         m.Key,
		GroupBy:     m.GroupBy,
		Weight:      m.Weight,
		WeightScale: m.WeightScale,
		Conditions:  m.Conditions,
		Default:     m.Default,
		Time:        m.Time,
		K:           int(m.K),
		MaxKeyBytes: int(m.MaxKeyBytes),
		Residents:   int(m.Residents),
		Shape:       topk.Shape{Width: int(m.Width), Depth: int(m.Depth), Seed: m.Seed},
	}
	if err := checkDefinition(d); err != nil {
		return nil, err
	}
	known[string(b)] = d
	return d, nil
}

// checkDefinition says why d may not travel, but for its size.
func checkDefinition(d *rule.Definition) error {
	switch {
	case d.Name == "" || !utf8.ValidString(d.Name) || strings.ContainsFunc(d.Name, unicode.IsControl):
		return refuse(ReasonInvalid, "definition.name: empty or not UTF-8 without control characters")
	case len(d.Name) > rule.MaxNameBytes:
		return tooLarge("definition.name", len(d.Name), rule.MaxNameBytes)
	case len(d.Key) == 0:
		return refuse(ReasonInvalid, "definition.key: empty")
	case d.K < 1 || d.K > rule.MaxK:
		return outside("definition.k", d.K, 1, rule.MaxK)
	case d.Residents < d.K || d.Residents > topk.MaxResidents:
		return outside("definition.residents", d.Residents, d.K, topk.MaxResidents)
	case d.Shape.Width < 1 || d.Shape.Width > topk.MaxWidth:
		return outside("definition.width", d.Shape.Width, 1, topk.MaxWidth)
	case d.Shape.Depth < 1 || d.Shape.Depth > topk.MaxDepth:
		return outside("definition.depth", d.Shape.Depth, 1, topk.MaxDepth)
	case d.MaxKeyBytes < 1 || d.MaxKeyBytes > topk.MaxKeyBytes:
		return outside("definition.max_key_bytes", d.MaxKeyBytes, 1, topk.MaxKeyBytes)
	case d.Default != nil && len(*d.Default) > d.MaxKeyBytes:
		return tooLarge("definition.default", len(*d.Default), d.MaxKeyBytes)
	case !(d.WeightScale > 0) || math.IsInf(d.WeightScale, 0):
		return refuse(ReasonInvalid, "definition.weight_scale: %v, a finite number above 0 is allowed", d.WeightScale)
	case d.Time != "" && d.Time != rule.TimeStart:
		return refuse(ReasonInvalid, `definition.time: only "" and "start" are allowed`)
	}
	return checkSignals(d.Signals)
}

func checkSignals(signals []string) error {
	if len(signals) == 0 || len(signals) > 3 {
		return outside("definition.signals", len(signals), 1, 3)
	}
	for i, s := range signals {
		switch s {
		case rule.SignalLogs, rule.SignalTraces, rule.SignalMetrics:
		default:
			return refuse(ReasonInvalid, `definition.signals[%d]: only "logs", "traces" and "metrics" are allowed`, i)
		}
	}
	return nil
}

func outside(field string, n, low, high int) *Refusal {
	return refuse(ReasonInvalid, "%s: %d, allowed is %d to %d", field, n, low, high)
}

// decode reads the message in b. What it does not know is left out: a newer sender of the same version may say more.
func decode(b []byte, m proto.Message) error {
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, m); err != nil {
		return refuse(ReasonMalformed, "%s: not a protobuf message of version %s", m.ProtoReflect().Descriptor().Name(), Version)
	}
	return nil
}

// Numbers of repeated fields, which atMost counts.
const (
	reportRules   protowire.Number = 4
	reportThrough protowire.Number = 5
	reportSilent  protowire.Number = 6
	rollupReasons protowire.Number = 5
)

// atMost counts a repeated field of the message in b before room is made for each: in the message it may take two bytes.
func atMost(b []byte, field string, number protowire.Number, most int) error {
	n := 0
	for len(b) > 0 {
		got, _, size := protowire.ConsumeField(b)
		if size < 0 {
			return nil // decode says so
		}
		if got == number {
			n++
		}
		b = b[size:]
	}
	if n > most {
		return outside(field, n, 0, most)
	}
	return nil
}
