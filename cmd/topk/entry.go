package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// entry is one thing that was decoded. Its JSON is a contract.
type entry struct {
	Kind           string        `json:"kind"` // summary, state, report, list, window_summary or rollup
	Rule           string        `json:"rule,omitempty"`
	Fingerprint    string        `json:"fingerprint,omitempty"` // of the rule's definition
	Window         string        `json:"window,omitempty"`
	Minute         *time.Time    `json:"minute,omitempty"`
	Hour           *time.Time    `json:"hour,omitempty"`
	Scope          string        `json:"scope,omitempty"`
	Group          *string       `json:"group,omitempty"`
	WindowStart    *time.Time    `json:"window_start,omitempty"`
	AsOf           *time.Time    `json:"as_of,omitempty"`
	PartialReasons []string      `json:"partial_reasons,omitempty"`
	Shard          string        `json:"shard,omitempty"`
	Epoch          string        `json:"epoch,omitempty"`
	Sender         string        `json:"sender,omitempty"` // the gateway, where it is not who counted
	ReplicaSet     string        `json:"replica_set,omitempty"`
	Sequence       uint64        `json:"sequence,omitempty"`
	Final          *bool         `json:"final,omitempty"`
	Groups         int           `json:"groups,omitempty"` // of the epoch, rule and minute
	Goodbye        *bool         `json:"goodbye,omitempty"`
	Rules          []ruleEntry   `json:"rules,omitempty"` // of a report
	Coverage       *coverage     `json:"coverage,omitempty"`
	Summary        *summaryEntry `json:"summary,omitempty"`
}

type ruleEntry struct {
	Rule    string `json:"rule"`
	Records uint64 `json:"records"`
	Late    uint64 `json:"late"`
	Future  uint64 `json:"future"`
	Dropped uint64 `json:"dropped"`
}

type coverage struct {
	Reporting int `json:"reporting"`
	Silent    int `json:"silent"`
	Gone      int `json:"gone"`
}

// summaryEntry is what a summary, or a list, holds. Every key that is not among its items weighs at most Theta, or the estimate of
// the last item.
type summaryEntry struct {
	Records    uint64     `json:"records"`
	Total      uint64     `json:"total"`
	TotalUpper uint64     `json:"total_upper"`
	Distinct   uint64     `json:"distinct"`
	Theta      uint64     `json:"theta"`
	Residents  int        `json:"residents,omitempty"` // keys that are counted one by one
	Capacity   int        `json:"capacity,omitempty"`
	Width      int        `json:"width,omitempty"` // of its cells
	Depth      int        `json:"depth,omitempty"`
	Items      []keyEntry `json:"items"`
}

type keyEntry struct {
	Rank     int    `json:"rank"`
	Key      string `json:"key"`
	Estimate uint64 `json:"estimate"`
	Lower    uint64 `json:"lower"`
}

func entryOf(message any, k int) *entry {
	switch m := message.(type) {
	case *wire.State:
		e := of("state", m.Rule, m.Group)
		e.Minute, e.Shard, e.Epoch, e.ReplicaSet = moment(m.Minute), m.Shard, text(m.Epoch), m.ReplicaSet
		e.Sequence, e.Final, e.Groups = m.Sequence, &m.Final, m.Groups
		if m.From() != m.Epoch {
			e.Sender = text(m.Sender)
		}
		e.Summary = describe(m.Summary, k)
		return e
	case *wire.Report:
		e := &entry{Kind: "report", Shard: m.Shard, Epoch: text(m.Epoch), Goodbye: &m.Goodbye}
		for _, r := range m.Rules {
			e.Rules = append(e.Rules, ruleEntry{r.Rule, r.Records, r.Late, r.Future, r.Dropped})
		}
		return e
	case *wire.Snapshot:
		e := of("list", m.Rule, m.Group)
		e.Window, e.WindowStart, e.AsOf, e.PartialReasons = window.Name(m.Window), &m.WindowStart, given(m.AsOf), m.PartialReasons
		e.Coverage = &coverage{m.Coverage.Reporting, m.Coverage.Silent, m.Coverage.Gone}
		e.Summary = &summaryEntry{
			Records: m.Records, Total: m.Total, TotalUpper: m.TotalUpper, Distinct: m.Distinct, Theta: m.List.Theta, Items: items(m.List.First(k)),
		}
		return e
	case *wire.WindowSummary:
		e := of("window_summary", m.Rule, m.Group)
		e.Window, e.AsOf, e.Summary = window.Name(m.Window), given(m.AsOf), describe(m.Summary, k)
		return e
	case *wire.Rollup:
		e := of("rollup", m.Rule, m.Group)
		e.Hour, e.AsOf, e.PartialReasons, e.Summary = moment(m.Hour), given(m.AsOf), m.PartialReasons, describe(m.Summary, k)
		return e
	default:
		panic(fmt.Sprintf("topk: wire yields a %T", message)) // there is no other
	}
}

func of(kind string, d *rule.Definition, g rule.Group) *entry {
	e := &entry{Kind: kind, Rule: d.Name, Fingerprint: d.Fingerprint(), Scope: g.Scope.String()}
	if g.Scope == rule.ScopeGroup {
		e.Group = &g.Name
	}
	return e
}

func moment(m window.Minute) *time.Time {
	t := time.Unix(0, m.Start()).UTC()
	return &t
}

// given is t, nil for no time.
func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func text(e wire.Epoch) string { return hex.EncodeToString(e[:]) }

func describe(s *topk.Summary, k int) *summaryEntry {
	distinct, _ := s.Distinct()
	shape := s.Shape()
	return &summaryEntry{
		Records: s.Records(), Total: s.Total(), TotalUpper: s.TotalUpper(), Distinct: distinct, Theta: s.Theta(),
		Residents: s.Size(), Capacity: s.Capacity(), Width: shape.Width, Depth: shape.Depth, Items: items(s.Top(k)),
	}
}

func items(l topk.List) []keyEntry {
	entries := make([]keyEntry, len(l.Items))
	for i, item := range l.Items {
		entries[i] = keyEntry{i + 1, item.Key, item.Estimate, item.Lower}
	}
	return entries
}

func showJSON(w io.Writer, e *entry) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(e)
}

// showYAML is for people: fields in the order of the JSON, and what could play tricks on a terminal escaped.
func showYAML(w io.Writer, e *entry) error {
	object, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var document yaml.Node // JSON is YAML
	if err := yaml.Unmarshal(object, &document); err != nil {
		return err
	}
	plain(&document)
	b := bytes.NewBufferString("---\n")
	encoder := yaml.NewEncoder(b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// plain writes a node, and those below it, in lines, and without quotes where none are needed.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, below := range n.Content {
		plain(below)
	}
}
