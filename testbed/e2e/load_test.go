package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

const loadRules = `
      - name: tenants
        key: log.attributes["tenant.id"]
        group_by: resource.attributes["cloud.region"]
      - name: bytes
        key: log.attributes["client.address"]
        weight: log.attributes["http.response.body.size"]
      - name: failing
        key: ['log.attributes["http.route"]', 'resource.attributes["service.name"]']
        conditions: ['log.severity_number >= SEVERITY_NUMBER_ERROR']
`

// load is what was sent of generated logs, counted as the rules of loadRules do.
type load struct{ tenants, bytes, failing oracle.Tally }

func (l *load) add(at time.Time, r generator.Record) {
	l.tenants.Add(at.UnixNano(), oracle.Named(r.Region), r.Tenant, 1)
	l.bytes.Add(at.UnixNano(), oracle.Global, r.Client, uint64(r.Bytes))
	if r.Failed {
		l.failing.Add(at.UnixNano(), oracle.Global, r.Route+"|shop", 1)
	}
}

func (l *load) tally(rule string) *oracle.Tally {
	return map[string]*oracle.Tally{"tenants": &l.tenants, "bytes": &l.bytes, "failing": &l.failing}[rule]
}

// send generated logs, a request to each deployment in turn over its shards.
func (l *load) send(t *testing.T, cfg generator.Config, requests int, to ...*deployment) {
	t.Helper()
	gen, err := generator.New(cfg)
	require.NoError(t, err)
	for i := range requests {
		now := time.Now()
		ld := gen.Logs(1000, now, func(r generator.Record) { l.add(now, r) })
		for _, d := range to {
			require.NoError(t, d.into[i%len(d.into)].Logs(t.Context(), clone(ld)))
		}
	}
}

// check a list of the newest five minutes, which hold all that was sent.
func (l *load) check(t *testing.T, d *deployment, rule string, group oracle.Group, same bool) *oracle.List {
	t.Helper()
	query := []string{"rule", rule, "window", "5m"}
	if group != oracle.Global {
		query = append(query, "group", group.Name)
	}
	tally := l.tally(rule)
	exact := tally.Window(tally.Newest().Add(-4*time.Minute), tally.Newest(), group)
	list := d.answers.AwaitTotal(t, exact.Total, query...)
	what := fmt.Sprintf("rule %s, group %v", rule, group)
	require.NoError(t, list.Law(exact, 10), what)
	if same {
		require.NoError(t, list.Same(exact, 10), what)
	}
	assert.WithinDuration(t, time.Now(), *list.AsOf, 10*time.Second, what)
	assert.Equal(t, []string{"short_window"}, list.PartialReasons, what)

	ranked := exact.Ranked()
	for _, c := range []oracle.Count{ranked[0], ranked[len(ranked)/2], ranked[len(ranked)-1], {Key: "never sent"}} {
		key := c.Key
		if route, service, composite := strings.Cut(key, "|"); composite {
			key = fmt.Sprintf("[%q,%q]", route, service)
		} else if rule == "failing" {
			key = `["never","sent"]`
		}
		point := d.answers.Count(t, key, query...)
		if rule == "failing" {
			point.Key = c.Key
		}
		require.NoError(t, point.Law(exact), what)
	}
	return list
}

func TestALoadIsListedAsItWasSent(t *testing.T) {
	one := startSingle(t, "wall", "logs", loadRules)
	three := startFleet(t, 3, "wall", "logs", loadRules)
	var sent load
	sent.send(t, generator.Config{Seed: 1, Keys: 100_000, Exponent: 1.01, Regions: 8}, 150, one, three)
	for _, d := range []*deployment{one, three} {
		for _, group := range sent.tenants.Groups() {
			sent.check(t, d, "tenants", group, true)
		}
		sent.check(t, d, "bytes", oracle.Global, true)
		sent.check(t, d, "failing", oracle.Global, true)
	}
	a, b := sent.check(t, one, "tenants", oracle.Global, true), sent.check(t, three, "tenants", oracle.Global, true)
	assert.True(t, a.Certified)
	assert.True(t, b.Certified)
	for i := range a.Items {
		assert.Equal(t, a.Items[i].Key, b.Items[i].Key, "one collector and three shards at place %d", i+1)
	}
}

// K11: one key has nine tenths of everything.
func TestOneKeyOfNearlyAllIsCountedRight(t *testing.T) {
	d := startFleet(t, 2, "wall", "logs", loadRules)
	var sent load
	sent.send(t, generator.Config{Seed: 11, Keys: 100_000, Exponent: 4, Regions: 2}, 30, d)
	list := sent.check(t, d, "tenants", oracle.Global, true)
	assert.Greater(t, list.Items[0].Share, 0.9)
	assert.True(t, list.Certified)
}

// M7: every key is as frequent as any other.
func TestAUniformLoadIsNotCertified(t *testing.T) {
	d := startSingle(t, "wall", "logs", loadRules)
	var sent load
	sent.send(t, generator.Config{Seed: 7, Keys: 50_000, Regions: 1}, 60, d)
	list := sent.check(t, d, "tenants", oracle.Global, false)
	assert.False(t, list.Certified)
	assert.Positive(t, list.Theta)
	for _, item := range list.Items {
		assert.False(t, item.RankCertain, "%+v", item)
	}
}

// T1: a record without any time counts now.
func TestARecordWithoutTimeCountsNow(t *testing.T) {
	d := startSingle(t, "wall", "logs", "      - name: tenants\n        key: log.attributes[\"tenant\"]\n")
	records, err := parseRecords(`{"a": {"tenant": "timeless"}}`)
	require.NoError(t, err)
	before := time.Now()
	require.NoError(t, d.into[0].Logs(t.Context(), logsOf(records)))
	list := d.answers.AwaitTotal(t, 1, "window", "5m")
	assert.Equal(t, "timeless", list.Items[0].Key)
	assert.False(t, list.AsOf.Before(before.Add(-time.Second)))
}

// Ties beyond what fits: 640 keys of one weight and a newcomer, and 5,000 keys of one event each.
func TestTiesAreListedWithinTheLaw(t *testing.T) {
	const rules = `
      - name: equals
        key: log.attributes["equal"]
      - name: singles
        key: log.attributes["single"]
`
	d := startSingle(t, "event", "logs", rules)
	exact := map[string]*oracle.Counts{"equals": oracle.NewCounts(), "singles": oracle.NewCounts()}
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	add := func(rule, attribute, key string) {
		lr := records.AppendEmpty()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(noon))
		lr.Attributes().PutStr(attribute, key)
		exact[rule].Add(key, 1)
	}
	for range 3 {
		for i := range 640 {
			add("equals", "equal", strconv.Itoa(i))
		}
	}
	add("equals", "equal", "newcomer")
	for i := range 5000 {
		add("singles", "single", strconv.Itoa(i))
	}
	require.NoError(t, d.into[0].Logs(t.Context(), ld))
	for rule, counts := range exact {
		for _, k := range []int{1, 10, 100} {
			list := d.answers.AwaitTotal(t, counts.Total, "rule", rule, "window", "5m", "k", strconv.Itoa(k))
			require.NoError(t, list.Law(counts, k), rule)
			require.NoError(t, list.Same(counts, k), rule)
		}
	}
}
