package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/dataset"
	"github.com/otel-topk/collector/testbed/oracle"
)

// conditioned are rules that count one key of a stream where another one has a value, which is its most frequent.
var conditioned = map[string]struct{ key, where string }{
	"auth-elastic-sshd/lines":          {"src_ip", "program"},
	"dns-zeek-wrccdc/dns":              {"query", "rcode"},
	"edits-wikipedia-20150912/edits":   {"page", "channel"},
	"flow-kdd99-10pct/connections":     {"service", "flag"},
	"otlp-logs-loadgen/logs":           {"body", "service.name"},
	"otlp-robotframework/spans":        {"name", "service.name"},
	"otlp-robotframework/logs":         {"body", "service.name"},
	"otlp-traces-hipstershop/spans":    {"name", "service.name"},
	"spans-nezha-onlineboutique/spans": {"OperationName", "PodName"},
	"web-elastic-apache/requests":      {"path", "method"},
}

// further is a rule that the streams' own keys do not have, and what it counts.
type further struct {
	name, yaml string
	exact      map[oracle.Group]*oracle.Counts
}

func (f *further) add(group oracle.Group, key string, weight uint64) {
	for _, g := range slices.Compact([]oracle.Group{oracle.Global, group}) {
		if f.exact[g] == nil {
			f.exact[g] = oracle.NewCounts()
		}
		f.exact[g].Add(key, weight)
	}
}

// furtherRules of a stream: groups, a condition, weights.
func furtherRules(s *dataset.Stream) []*further {
	index := make(map[string]int)
	for k, key := range s.Keys {
		index[key.Name] = k
	}
	start := ""
	if s.Signal == "traces" {
		start = ", time: start"
	}
	var list []*further
	rule := func(name string, key int, more string, count func(add func(oracle.Group, string, uint64), i int)) {
		paths := s.Keys[key].Paths
		f := &further{name: name, exact: map[oracle.Group]*oracle.Counts{oracle.Global: oracle.NewCounts()}}
		f.yaml = fmt.Sprintf("      - {name: '%s', key: ['%s'], signals: [%s], max_key_bytes: 16384%s, %s}\n",
			name, strings.Join(paths, "', '"), s.Signal, start, more)
		for i := range s.Len() {
			if s.Values[key][i] != "" {
				count(f.add, i)
			}
		}
		list = append(list, f)
	}
	if g, ok := grouped[s.Set+"/"+s.Name]; ok {
		key, by := index[g.key], index[g.by]
		c := counted{key: key, by: by}
		rule("grouped", key, fmt.Sprintf("group_by: '%s', conditions: ['%s != \"\"']", s.Keys[by].Paths[0], s.Keys[key].Paths[0]),
			func(add func(oracle.Group, string, uint64), i int) { add(c.group(s, i), s.Values[key][i], 1) })
	}
	if w, ok := conditioned[s.Set+"/"+s.Name]; ok {
		key, where := index[w.key], index[w.where]
		value := mostFrequent(s.Values[where])
		rule("conditioned", key, fmt.Sprintf(`conditions: ['%s == "%s" and %s != ""']`, s.Keys[where].Paths[0], value, s.Keys[key].Paths[0]),
			func(add func(oracle.Group, string, uint64), i int) {
				if s.Values[where][i] == value {
					add(oracle.Global, s.Values[key][i], 1)
				}
			})
	}
	rule("bytes", 0, fmt.Sprintf(`weight: bytes, conditions: ['%s != ""']`, s.Keys[0].Paths[0]),
		func(add func(oracle.Group, string, uint64), i int) { add(oracle.Global, s.Values[0][i], size(s, i)) })
	if composite, ok := index["svc_flag_bytes"]; ok {
		rule("numbers", index["service"], `weight: 'Double(log.attributes["src_bytes"])', weight_scale: 0.5`,
			func(add func(oracle.Group, string, uint64), i int) {
				n, _ := strconv.ParseUint(strings.Split(s.Values[composite][i], "|")[2], 10, 64)
				add(oracle.Global, s.Values[index["service"]][i], (n+1)/2) // rounded half up
			})
	}
	return list
}

func mostFrequent(values []string) string {
	counts := oracle.NewCounts()
	for _, v := range values {
		if v != "" {
			counts.Add(v, 1)
		}
	}
	return counts.Ranked()[0].Key
}

// size of a record as OTLP protobuf, without its resource and scope.
func size(s *dataset.Stream, i int) uint64 {
	one := func(yield func(int) bool) { yield(i) }
	if s.Signal == "logs" {
		return uint64(new(plog.ProtoMarshaler).LogRecordSize(s.Logs(one).ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)))
	}
	return uint64(new(ptrace.ProtoMarshaler).SpanSize(s.Traces(one).ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)))
}

// recountFurther counts these rules over all of a stream: the global list, and those of the largest groups and the smallest.
func (a *archiving) recountFurther(t *testing.T, s *dataset.Stream, rules []*further) {
	t.Helper()
	const most = 10 // groups
	for _, f := range rules {
		groups := make([]oracle.Group, 0, len(f.exact))
		for g := range f.exact {
			groups = append(groups, g)
		}
		slices.SortFunc(groups, func(a, b oracle.Group) int { return int(f.exact[b].Records) - int(f.exact[a].Records) })
		if len(groups) > most {
			groups = append(groups[:most], groups[len(groups)-1])
		}
		for _, g := range groups {
			asked := collector.Asked{Rule: f.name, From: first(s), To: last(s), K: 100, Scope: g.Scope, Group: g.Name}
			job := a.answers.Recount(t, asked)
			require.NoError(t, job.Exactly(f.exact[g], 100), "rule %s, group %v", f.name, g)
		}
	}
}
