package generator

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

var noon = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func TestOneSeedMakesOneStream(t *testing.T) {
	cfg := Config{Seed: 7, Keys: 1000, Exponent: 1.01, Regions: 3}
	encode := func(seed uint64) []byte {
		cfg.Seed = seed
		g, err := New(cfg)
		require.NoError(t, err)
		logs, err := (&plog.ProtoMarshaler{}).MarshalLogs(g.Logs(500, noon, nil))
		require.NoError(t, err)
		traces, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(g.Traces(500, noon, nil))
		require.NoError(t, err)
		return append(logs, traces...)
	}
	assert.Equal(t, encode(7), encode(7))
	assert.NotEqual(t, encode(7), encode(8))
}

func TestWhatIsSeenIsWhatIsSent(t *testing.T) {
	g, err := New(Config{Keys: 100, Exponent: 1, Regions: 12})
	require.NoError(t, err)
	var seen []Record
	ld := g.Logs(1000, noon, func(r Record) { seen = append(seen, r) })
	require.Equal(t, 1000, ld.LogRecordCount())
	i := 0
	for _, rl := range ld.ResourceLogs().All() {
		for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			r := seen[i]
			region, _ := rl.Resource().Attributes().Get("cloud.region")
			assert.Equal(t, r.Region, region.Str())
			assert.Equal(t, map[string]any{
				"tenant.id": r.Tenant, "client.address": r.Client, "http.route": r.Route, "http.response.body.size": r.Bytes,
			}, lr.Attributes().AsRaw())
			assert.Equal(t, r.Failed, lr.SeverityNumber() == plog.SeverityNumberError)
			assert.Equal(t, noon, lr.Timestamp().AsTime())
			i++
		}
	}
	seen = seen[:0]
	td := g.Traces(1000, noon, func(r Record) { seen = append(seen, r) })
	require.Equal(t, 1000, td.SpanCount())
	i = 0
	for _, rs := range td.ResourceSpans().All() {
		for _, span := range rs.ScopeSpans().At(0).Spans().All() {
			tenant, _ := span.Attributes().Get("tenant.id")
			assert.Equal(t, seen[i].Tenant, tenant.Str())
			assert.Equal(t, seen[i].Failed, span.Status().Code() == ptrace.StatusCodeError)
			assert.Equal(t, noon, span.EndTimestamp().AsTime())
			assert.LessOrEqual(t, span.StartTimestamp(), span.EndTimestamp())
			i++
		}
	}
}

func TestSharesFollowZipf(t *testing.T) {
	const keys, draws = 50, 400_000
	for _, exponent := range []float64{0, 0.8, 1.01, 2} {
		g, err := New(Config{Keys: keys, Exponent: exponent, Regions: 1})
		require.NoError(t, err)
		counts := make([]int, keys)
		for range draws {
			counts[g.keys.draw(g.rng)]++
		}
		sum := 0.0
		for r := range keys {
			sum += math.Pow(float64(r+1), -exponent)
		}
		for r, count := range counts {
			want := draws * math.Pow(float64(r+1), -exponent) / sum
			assert.InDelta(t, want, count, 5*math.Sqrt(want)+5, "exponent %v, rank %d", exponent, r)
		}
	}
}

func TestClientAddressesAreDistinct(t *testing.T) {
	seen := make(map[string]bool)
	for rank := range 100_000 {
		seen[clientAddress(rank)] = true
	}
	assert.Len(t, seen, 100_000)
}

func TestNamesAreAsLongAsTheyAreToBe(t *testing.T) {
	g, err := New(Config{Keys: 100, Exponent: 1, Regions: 1, NameBytes: 300})
	require.NoError(t, err)
	names := make(map[string]bool)
	g.Logs(1000, noon, func(r Record) {
		assert.GreaterOrEqual(t, len(r.Tenant), 300)
		names[r.Tenant] = true
	})
	assert.Greater(t, len(names), 50)
	assert.LessOrEqual(t, len(names), 100, "a tenant has one name")
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	good := Config{Keys: 1, Regions: 1}
	_, err := New(good)
	require.NoError(t, err)
	for _, change := range []func(*Config){
		func(c *Config) { c.Keys = 0 },
		func(c *Config) { c.Exponent = -1 },
		func(c *Config) { c.Exponent = math.NaN() },
		func(c *Config) { c.Exponent = math.Inf(1) },
		func(c *Config) { c.Regions = 0 },
	} {
		bad := good
		change(&bad)
		_, err := New(bad)
		assert.Error(t, err)
	}
}

func TestATenantThatSurgesHasItsShare(t *testing.T) {
	g, err := New(Config{Keys: 1000, Exponent: 1, Regions: 3})
	require.NoError(t, err)
	count := func() (n int) {
		g.Logs(10_000, noon, func(r Record) {
			assert.Equal(t, TenantName(r.Rank), r.Tenant)
			if r.Rank == 700 {
				n++
			}
		})
		return n
	}
	assert.Less(t, count(), 100)
	g.Surge(700, 0.2)
	assert.InDelta(t, 2000, count(), 200)
	g.Surge(700, 0)
	assert.Less(t, count(), 100)
}
