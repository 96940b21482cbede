package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

func TestAStateReadsBackAsItWasWritten(t *testing.T) {
	empty := ""
	for name, change := range map[string]func(*wire.State){
		"as it is":                   func(*wire.State) {},
		"final":                      func(s *wire.State) { s.Final = true },
		"of minute 0":                func(s *wire.State) { s.Minute, s.Newest = 0, 0 },
		"of the last minute":         func(s *wire.State) { s.Minute, s.Newest = wire.MaxMinute, wire.MaxMinute.End()-1 },
		"of no shard":                func(s *wire.State) { s.Shard = "" },
		"of a group called nothing":  func(s *wire.State) { s.Group.Name = "" },
		"of missing groups":          func(s *wire.State) { s.Group = rule.Group{Scope: rule.ScopeMissing} },
		"of overflowed groups":       func(s *wire.State) { s.Group = rule.Group{Scope: rule.ScopeOverflow} },
		"of a rule without group_by": func(s *wire.State) { s.Rule.GroupBy, s.Group, s.Groups = "", rule.Group{}, 1 },
		"with an empty default":      func(s *wire.State) { s.Rule.Default = &empty },
		"of a composite key":         func(s *wire.State) { s.Rule.Key = []string{"log.body", `log.attributes["a"]`} },
		"with conditions":            func(s *wire.State) { s.Rule.Conditions = []string{"log.severity_number >= 17"} },
		"without records":            func(s *wire.State) { s.Summary = summary(t, s.Rule.Shape, 0); s.Newest = 0 },
		"of a gateway":               func(s *wire.State) { s.Sender, s.ReplicaSet = wire.Epoch{4}, "west" },
		"with a tail":                func(s *wire.State) { s.Summary = summary(t, s.Rule.Shape, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			want := state(t)
			change(want)
			ld := plog.NewLogs()
			size, err := wire.AppendState(ld, want)
			require.NoError(t, err)
			require.InDelta(t, requestSize(ld)-requestSize(emptyLike(ld)), size, 8)

			got := only[*wire.State](t, ld)
			want.Encoded, err = want.Summary.AppendBinary(nil)
			require.NoError(t, err)
			encoded, err := got.Summary.AppendBinary(nil)
			require.NoError(t, err)
			assert.Equal(t, want.Encoded, encoded)
			want.Weight = max(want.Summary.TotalUpper(), want.Summary.Records())
			got.Summary, want.Summary = nil, nil
			assert.Equal(t, want, got)
		})
	}
}

func TestAStateIsStoredAsItTravels(t *testing.T) {
	want := state(t)
	ld := plog.NewLogs()
	_, err := wire.AppendState(ld, want)
	require.NoError(t, err)
	body, err := wire.EncodeState(want)
	require.NoError(t, err)
	assert.Equal(t, ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Bytes().AsRaw(), body)

	var bodies wire.Bodies
	got, err := bodies.State(body)
	require.NoError(t, err)
	assert.Equal(t, only[*wire.State](t, ld), got)
	again, err := bodies.State(body)
	require.NoError(t, err)
	assert.Same(t, got.Rule, again.Rule)
	encoded, err := wire.EncodeDefinition(want.Rule)
	require.NoError(t, err)
	definition, err := bodies.Definition(encoded)
	require.NoError(t, err)
	assert.Same(t, got.Rule, definition)

	_, err = bodies.State(make([]byte, wire.MaxBodyBytes+1))
	assert.ErrorContains(t, err, "body: 16777217 bytes, at most 16777216 are allowed")
	_, err = bodies.Rollup(make([]byte, wire.MaxBodyBytes+1))
	assert.ErrorContains(t, err, "body: 16777217 bytes, at most 16777216 are allowed")
}

func TestAnEncodedSummaryIsSentAsItIs(t *testing.T) {
	s := state(t)
	encoded, err := s.Summary.AppendBinary(nil)
	require.NoError(t, err)
	s.Encoded, s.Summary = encoded, nil
	ld := plog.NewLogs()
	_, err = wire.AppendState(ld, s)
	require.NoError(t, err)
	assert.Equal(t, encoded, only[*wire.State](t, ld).Encoded)
}

func TestStatesOfOneRequestShareTheirDefinition(t *testing.T) {
	ld := plog.NewLogs()
	for i, name := range []string{"a", "b", "a"} {
		s := state(t)
		s.Rule.Name = name
		s.Sequence = uint64(i)
		_, err := wire.AppendState(ld, s)
		require.NoError(t, err)
	}
	var rules []*rule.Definition
	for m, err := range wire.Messages(ld) {
		require.NoError(t, err)
		rules = append(rules, m.(*wire.State).Rule)
	}
	assert.Same(t, rules[0], rules[2])
	assert.NotSame(t, rules[0], rules[1])
}

func TestAStateThatNoGatewayTakesIsNotWritten(t *testing.T) {
	for want, change := range map[string]func(*wire.State){
		"group.scope":    func(s *wire.State) { s.Group = rule.Group{Scope: rule.ScopeGlobal} },
		"group.name":     func(s *wire.State) { s.Group.Name = strings.Repeat("g", 257) },
		"groups":         func(s *wire.State) { s.Groups = 0 },
		"minute":         func(s *wire.State) { s.Minute = -1 },
		"newest":         func(s *wire.State) { s.Newest = s.Minute.End() },
		"definition.k":   func(s *wire.State) { s.Rule.K = 501 },
		"definition: 65": func(s *wire.State) { s.Rule.Conditions = []string{strings.Repeat("c", 65_500)} },
		"body":           func(s *wire.State) { s.Encoded = make([]byte, wire.MaxBodyBytes) },
	} {
		t.Run(want, func(t *testing.T) {
			s := state(t)
			change(s)
			ld := plog.NewLogs()
			_, err := wire.AppendState(ld, s)
			require.ErrorContains(t, err, "state: "+want)
			assert.Zero(t, ld.LogRecordCount())
		})
	}
}

// state is a state with nothing special.
func state(t testing.TB) *wire.State {
	shape := topk.Shape{Width: 64, Depth: 3, Seed: 7}
	minute := window.Minute(29_000_000)
	return &wire.State{
		Epoch:    wire.Epoch{1, 2, 3},
		Shard:    "shard-1",
		Sequence: 5,
		Rule: &rule.Definition{
			Name:        "tenants",
			Signals:     []string{"logs"},
			Key:         []string{`log.attributes["tenant.id"]`},
			GroupBy:     `resource.attributes["cloud.region"]`,
			Weight:      "1",
			WeightScale: 1,
			K:           10,
			MaxKeyBytes: 256,
			Residents:   32,
			Shape:       shape,
		},
		Minute:  minute,
		Group:   rule.Group{Scope: rule.ScopeGroup, Name: "eu"},
		Groups:  3,
		Newest:  minute.Start() + int64(20*time.Second),
		Summary: summary(t, shape, 20),
	}
}

// summary holds n keys, the i-th of weight i+1.
func summary(t testing.TB, shape topk.Shape, n int) *topk.Summary {
	s, err := topk.New(32, shape)
	require.NoError(t, err)
	for i := range n {
		require.NoError(t, s.Add(fmt.Sprintf("key-%d", i), uint64(i)+1))
	}
	return s
}

func requestSize(ld plog.Logs) int { return (&plog.ProtoMarshaler{}).LogsSize(ld) }
