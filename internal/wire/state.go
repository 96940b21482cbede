package wire

import (
	"fmt"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire/wirepb"
	"github.com/otel-topk/collector/topk"
)

// Epoch is 128 random bits made when a processor starts.
type Epoch [16]byte

// State is the summary of one (epoch, rule, minute, group), cumulative; the highest Sequence wins, Final beats any.
type State struct {
	Epoch      Epoch  // of the set: what one process counted, or a gateway folded at one time
	Sender     Epoch  // of the process that sends it; zero: Epoch, as of a processor
	ReplicaSet string // gateways of one name here see the same records, and count once above; "": none
	Shard      string // a label, cut at MaxShardBytes
	Sequence   uint64
	Final      bool
	Rule       *rule.Definition // not to be changed: states that came together share it
	Minute     window.Minute
	Group      rule.Group
	Groups     int   // how many groups (states) the epoch has for this rule and minute; does not change once Final
	Newest     int64 // newest event counted, Unix nanoseconds; 0: none
	Summary    *topk.Summary
	Encoded    []byte // of Summary: set by Messages, may be set for Append
	Weight     uint64 // the larger of Summary's TotalUpper and Records: set by Messages
}

// From is the process that sends s.
func (s *State) From() Epoch {
	if s.Sender == (Epoch{}) {
		return s.Epoch
	}
	return s.Sender
}

// AppendState appends one log record to ld and returns its size in bytes. An error says which field may not travel; ld is
// unchanged then.
func AppendState(ld plog.Logs, s *State) (int, error) {
	body, err := EncodeState(s)
	if err != nil {
		return 0, err
	}
	return appendBody(ld, ScopeState, body), nil
}

// EncodeState makes the body of a state, as it travels and as it is stored. An error says which field may not be so.
func EncodeState(s *State) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	definition, err := EncodeDefinition(s.Rule)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	summary := s.Encoded
	if summary == nil {
		if summary, err = s.Summary.AppendBinary(nil); err != nil {
			return nil, fmt.Errorf("state: summary: %w", err)
		}
	}
	var sender []byte
	if s.From() != s.Epoch {
		sender = s.Sender[:]
	}
	body, err := proto.Marshal(&wirepb.State{
		Epoch:      s.Epoch[:],
		Shard:      label(s.Shard),
		Sequence:   s.Sequence,
		Final:      s.Final,
		Definition: definition,
		Minute:     int64(s.Minute),
		Group:      encodeGroup(s.Group),
		Groups:     uint32(s.Groups),
		Newest:     s.Newest,
		Summary:    summary,
		Sender:     sender,
		ReplicaSet: s.ReplicaSet,
	})
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if len(body) > MaxBodyBytes {
		return nil, fmt.Errorf("state: %w", tooLarge("body", len(body), MaxBodyBytes))
	}
	return body, nil
}

// Bodies decodes what was stored. States of one rule share its definition. The zero value is ready.
type Bodies struct{ known definitions }

// State reads the body of a state. The error is a *Refusal.
func (b *Bodies) State(body []byte) (*State, error) {
	if len(body) > MaxBodyBytes {
		return nil, tooLarge("body", len(body), MaxBodyBytes)
	}
	return b.definitions().decodeStateBody(body)
}

func (b *Bodies) definitions() definitions {
	if b.known == nil {
		b.known = definitions{}
	}
	return b.known
}

func (known definitions) decodeState(lr plog.LogRecord) (*State, error) {
	b, err := body(lr, MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	return known.decodeStateBody(b)
}

func (known definitions) decodeStateBody(b []byte) (*State, error) {
	var m wirepb.State
	if err := decode(b, &m); err != nil {
		return nil, err
	}
	s := &State{
		Shard:    m.Shard,
		Sequence: m.Sequence,
		Final:    m.Final,
		Minute:   window.Minute(m.Minute),
		Groups:   int(m.Groups),
		Newest:   m.Newest,
		Encoded:  m.Summary,

		ReplicaSet: m.ReplicaSet,
	}
	var err error
	if s.Epoch, err = decodeEpoch(m.Epoch); err != nil {
		return nil, err
	}
	if len(m.Sender) > 0 {
		if s.Sender, err = decodeEpoch(m.Sender); err != nil {
			return nil, err
		}
	}
	if s.Rule, err = known.decode(m.Definition); err != nil {
		return nil, err
	}
	if s.Group, err = decodeGroup(m.Group); err != nil {
		return nil, err
	}
	if len(s.Shard) > MaxShardBytes {
		return nil, tooLarge("shard", len(s.Shard), MaxShardBytes)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Summary, err = decodeSummary(m.Summary, s.Rule); err != nil {
		return nil, err
	}
	s.Weight = max(s.Summary.TotalUpper(), s.Summary.Records())
	return s, nil
}

// check holds for both sides, except for what only one of them can get wrong.
func (s *State) check() error {
	if err := checkGroup(s.Group, s.Rule); err != nil {
		return err
	}
	if n := len(s.ReplicaSet); n > MaxReplicaSetBytes {
		return tooLarge("replica_set", n, MaxReplicaSetBytes)
	}
	if !utf8.ValidString(s.ReplicaSet) {
		return refuse(ReasonInvalid, "replica_set: not UTF-8")
	}
	switch grouped := s.Rule.Grouped(); {
	case grouped && s.Group.Scope == rule.ScopeGlobal:
		return refuse(ReasonInvalid, "group.scope: a rule with group_by has no state of scope global")
	case !grouped && s.Groups != 1:
		return outside("groups", s.Groups, 1, 1)
	case s.Groups < 1 || s.Groups > MaxGroups:
		return outside("groups", s.Groups, 1, MaxGroups)
	case s.Minute < 0 || s.Minute > MaxMinute:
		return refuse(ReasonInvalid, "minute: %d, allowed is 0 to %d", s.Minute, MaxMinute)
	case s.Newest != 0 && (s.Newest < s.Minute.Start() || s.Newest >= s.Minute.End()):
		return refuse(ReasonInvalid, "newest: outside of its minute")
	}
	return nil
}

// decodeSummary reads a summary that merges with others of its rule.
func decodeSummary(b []byte, d *rule.Definition) (*topk.Summary, error) {
	s := new(topk.Summary)
	if err := s.UnmarshalBinary(b); err != nil {
		return nil, refuse(ReasonMalformed, "summary: %w", err)
	}
	if got, want := s.Shape(), d.Shape; got != want {
		return nil, refuse(ReasonInvalid, "summary: shape %v, its rule has %v", got, want)
	}
	for key := range s.Keys() {
		if len(key) > d.MaxKeyBytes {
			return nil, tooLarge("summary: a key", len(key), d.MaxKeyBytes)
		}
		if !utf8.Valid(key) {
			return nil, refuse(ReasonInvalid, "summary: a key is not UTF-8")
		}
	}
	return s, nil
}
