package topkexporter

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// pastHours is how many hours a past may have.
const pastHours = 6

var pastGroups = []rule.Group{{}, group("eu"), group("us"), group("ap"), {Scope: rule.ScopeMissing}, {Scope: rule.ScopeOverflow}}

func group(name string) rule.Group { return rule.Group{Scope: rule.ScopeGroup, Name: name} }

// exactPast is what was counted, by hour and group, and what a gateway made of it.
type exactPast struct {
	definition *rule.Definition
	truth      [pastHours]map[rule.Group]map[string]uint64
	counted    [pastHours]bool
	rollups    []*wire.Rollup
}

func drawPast(t *rapid.T, d *rule.Definition) *exactPast {
	p := &exactPast{definition: d}
	for hour := range pastHours {
		p.truth[hour] = map[rule.Group]map[string]uint64{}
		p.counted[hour] = rapid.IntRange(0, 4).Draw(t, "counted") > 0
		if !p.counted[hour] {
			continue
		}
		shards := make([]map[rule.Group]*topk.Summary, rapid.IntRange(1, 3).Draw(t, "shards"))
		for i := range shards {
			shards[i] = p.drawShard(t, hour)
		}
		p.rollUp(t, hour, shards)
	}
	return p
}

// drawShard counts what one shard saw. Groups beyond its max_groups share its overflow.
func (p *exactPast) drawShard(t *rapid.T, hour int) map[rule.Group]*topk.Summary {
	shard := map[rule.Group]*topk.Summary{}
	maxGroups, named := rapid.IntRange(1, 3).Draw(t, "max_groups"), 0
	keys := rapid.SampledFrom([]int{3, 30, 200}).Draw(t, "keys")
	for range rapid.IntRange(0, 150).Draw(t, "records") {
		g := rapid.SampledFrom(pastGroups[1:5]).Draw(t, "group")
		key := fmt.Sprint("key", rapid.IntRange(0, rapid.IntRange(0, keys).Draw(t, "skew")).Draw(t, "key"))
		weight := rapid.Uint64Range(0, 9).Draw(t, "weight")
		for _, of := range []rule.Group{{}, g} {
			if p.truth[hour][of] == nil {
				p.truth[hour][of] = map[string]uint64{}
			}
			p.truth[hour][of][key] += weight
		}
		place := g
		if shard[g] == nil && g.Scope == rule.ScopeGroup {
			if named == maxGroups {
				place = rule.Group{Scope: rule.ScopeOverflow}
			} else {
				named++
			}
		}
		if shard[place] == nil {
			shard[place] = empty(t, p.definition)
		}
		require.NoError(t, shard[place].Add(key, weight))
	}
	return shard
}

func empty(t require.TestingT, d *rule.Definition) *topk.Summary {
	s, err := topk.New(d.Residents, d.Shape)
	require.NoError(t, err)
	return s
}

// rollUp makes the roll-ups of an hour as a gateway does.
func (p *exactPast) rollUp(t *rapid.T, hour int, shards []map[rule.Group]*topk.Summary) {
	overflow := rule.Group{Scope: rule.ScopeOverflow}
	for _, g := range pastGroups {
		sum, present := empty(t, p.definition), g == rule.Group{}
		for _, shard := range shards {
			for of, s := range shard {
				if of == g || g == (rule.Group{}) {
					present = true
					require.NoError(t, sum.Merge(s))
				}
			}
		}
		for _, shard := range shards {
			if g.Scope == rule.ScopeGroup && shard[g] == nil && shard[overflow] != nil {
				require.NoError(t, sum.MergeBound(shard[overflow]))
			}
		}
		if present {
			sum.Prune(p.definition.Residents)
			sum.Flatten()
			p.rollups = append(p.rollups, rollup(p.definition, hourAt(hour), g, sum))
		}
	}
}

// exact is the truth of a group over hours.
func (p *exactPast) exact(g rule.Group, from, to int) (weights map[string]uint64, total uint64, missing bool) {
	weights = map[string]uint64{}
	for hour := from; hour < to; hour++ {
		missing = missing || !p.counted[hour]
		for key, weight := range p.truth[hour][g] {
			weights[key] += weight
			total += weight
		}
	}
	return weights, total, missing
}

// TestPastListsHoldTheTruth: for random streams over hours and groups, some of which overflow, and any span of them: no
// estimate is below the truth, no lower bound above it, the list and the counts agree, certificates are true, and a restart in
// between changes nothing.
func TestPastListsHoldTheTruth(t *testing.T) {
	plain := tenants(t, grouped)
	rapid.Check(t, func(r *rapid.T) {
		d := *plain
		d.K, d.Residents = rapid.IntRange(1, 8).Draw(r, "k"), rapid.IntRange(8, 40).Draw(r, "residents")
		p := drawPast(r, &d)
		disk := &disk{}
		e := openedAt(t, hostOf(disk))
		defer func() { require.NoError(t, e.shutdown(t.Context())) }()
		order := rapid.Permutation(p.rollups).Draw(r, "order")
		for chunk := range slices.Chunk(order, rapid.IntRange(1, 20).Draw(r, "chunk")) {
			roll(t, e, chunk...)
		}
		roll(t, e, order...) // repeated, as gateways do
		restart := func() {
			require.NoError(r, e.shutdown(t.Context()))
			e = openedAt(t, hostOf(disk))
		}
		for range 3 {
			g := rapid.SampledFrom(pastGroups[:5]).Draw(r, "asked")
			from := rapid.IntRange(0, pastHours-1).Draw(r, "from")
			to := rapid.IntRange(from+1, pastHours).Draw(r, "to")
			p.check(r, e, g, from, to)
			before := get(e, p.target("/v1/trending", g, from, to)).Body.String()
			restart()
			require.Equal(r, before, get(e, p.target("/v1/trending", g, from, to)).Body.String())
		}
	})
}

func (p *exactPast) target(path string, g rule.Group, from, to int) string {
	q := url.Values{"from": {at(hourAt(from))}, "to": {at(hourAt(to))}}
	switch g.Scope {
	case rule.ScopeGroup:
		q.Set("group", g.Name)
	case rule.ScopeMissing:
		q.Set("scope", "missing")
	}
	return path + "?" + q.Encode()
}

func (p *exactPast) check(r *rapid.T, e *topkExporter, g rule.Group, from, to int) {
	weights, total, missing := p.exact(g, from, to)
	var list trend
	w := get(e, p.target("/v1/trending", g, from, to)+fmt.Sprint("&k=", p.definition.K))
	if len(p.rollups) == 0 {
		return // no rule is known
	}
	require.Equal(r, 200, w.Code, w.Body)
	require.NoError(r, json.Unmarshal(w.Body.Bytes(), &list))
	require.Equal(r, missing, slices.Contains(list.PartialReasons, reasonMissing), list.PartialReasons)
	require.Equal(r, list.TotalUpper > list.Total, slices.Contains(list.PartialReasons, reasonOverflow))
	require.Equal(r, fmt.Sprint(to-from, "h"), *list.Window)
	require.Equal(r, at(hourAt(from)), *list.WindowStart)
	require.LessOrEqual(r, list.Total, total)
	require.LessOrEqual(r, total, list.TotalUpper)
	if g.Scope != rule.ScopeGroup {
		require.Equal(r, total, list.Total)
	}
	listed, sum := map[string]bool{}, list.Other
	least := total
	for _, i := range list.Items {
		require.LessOrEqual(r, i.Lower, weights[i.Key])
		require.LessOrEqual(r, weights[i.Key], i.Estimate)
		listed[i.Key], sum, least = true, sum+i.Lower, min(least, weights[i.Key])
	}
	require.Equal(r, list.Total, sum)
	for key, weight := range weights {
		if !listed[key] {
			require.LessOrEqual(r, weight, list.Theta, key)
			if list.Certified {
				require.LessOrEqual(r, weight, least, key)
			}
		}
		var c pointCount
		target := strings.Replace(p.target("/v1/count", g, from, to), "?", "?key="+key+"&", 1)
		require.NoError(r, json.Unmarshal(get(e, target).Body.Bytes(), &c))
		require.LessOrEqual(r, c.Lower, weight, key)
		require.LessOrEqual(r, weight, c.Estimate, key)
		require.Equal(r, list.AsOf, c.AsOf)
	}
}

func TestPastOfAZipfStreamIsCloseToTheTruth(t *testing.T) {
	d := tenants(t)
	e := shelf(t)
	truth := map[string]uint64{}
	for hour := range 24 {
		s := empty(t, d)
		for i := range 3000 {
			key := fmt.Sprint("key", (i*i+hour)%(1+i%97))
			truth[key]++
			require.NoError(t, s.Add(key, 1))
		}
		s.Prune(d.Residents)
		s.Flatten()
		roll(t, e, rollup(d, hourAt(hour-12), rule.Group{}, s))
	}
	e.handler.now = func() time.Time { return noon.Add(24 * time.Hour) }
	list := decode[trend](t, get(e, "/v1/trending?from="+at(hourAt(-12))+"&to="+at(hourAt(12))))
	require.Empty(t, list.PartialReasons)
	for _, i := range list.Items {
		require.LessOrEqual(t, i.ErrorBound, list.Total/50, i.Key)
		require.LessOrEqual(t, i.Lower, truth[i.Key])
	}
}
