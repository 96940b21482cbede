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

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

// L5: one tenant has as many keys as -distinct says (1,000,000), and the others' lists do not change.
func TestATenantOfManyKeysChangesNoOthersList(t *testing.T) {
	t.Parallel()
	d := startSingle(t, "event", "logs", "      - {name: clients, key: 'log.attributes[\"client\"]', group_by: 'log.attributes[\"tenant\"]'}\n")
	exact := make(map[string]*oracle.Counts)
	add := func(records plog.LogRecordSlice, tenant, client string) {
		lr := records.AppendEmpty()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(noon))
		lr.Attributes().PutStr("tenant", tenant)
		lr.Attributes().PutStr("client", client)
	}
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for tenant := range 20 {
		name := fmt.Sprintf("tenant-%d", tenant)
		exact[name] = oracle.NewCounts()
		for client := range 60 {
			for range 1 + 60/(client+1) {
				key := fmt.Sprintf("client-%d-%d", tenant, client)
				add(records, name, key)
				exact[name].Add(key, 1)
			}
		}
	}
	require.NoError(t, d.into[0].Logs(t.Context(), ld))
	before := make(map[string]*oracle.List)
	for name, counts := range exact {
		before[name] = d.answers.AwaitTotal(t, counts.Total, "group", name, "window", "5m", "k", "50")
		require.NoError(t, before[name].Same(counts, 50))
	}

	const batch = 2000
	for first := 0; first < *distinct; first += batch {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := first; i < first+batch; i++ {
			add(records, "of many keys", "client "+strconv.Itoa(i))
		}
		require.NoError(t, d.into[0].Logs(t.Context(), ld))
	}
	flooded := d.answers.AwaitTotal(t, uint64(*distinct), "group", "of many keys", "window", "5m")
	assert.False(t, flooded.Certified)
	for name, counts := range exact {
		after := d.answers.Trending(t, "group", name, "window", "5m", "k", "50")
		assert.Equal(t, before[name].Items, after.Items)
		assert.Equal(t, before[name].Total, after.Total)
		assert.True(t, after.Certified)
		require.NoError(t, after.Same(counts, 50))
	}
}

// L6: data passes while a shard is missing, and the list says that it is partial, which shard it is, and since when.
func TestAMissingShardIsNamed(t *testing.T) {
	t.Parallel() // it is silent after 30 s
	d := startFleet(t, 2, "wall", "logs", tenantRule)
	for _, to := range d.into {
		sendTenants(t, to, 70)
	}
	d.answers.AwaitTotal(t, 140, "window", "5m")
	missing := d.shards[1]
	missing.Kill()
	killed := time.Now()

	var list *oracle.List
	collector.AwaitFor(t, 50*time.Second, func() bool {
		list = d.answers.Trending(t, "window", "5m")
		return list.Coverage.Silent == 1
	}, func() string { return fmt.Sprintf("no silent shard in %+v", list.Coverage) })
	assert.Equal(t, 1, list.Coverage.Reporting)
	assert.True(t, list.Partial)
	assert.Contains(t, list.PartialReasons, "silent_shards")
	require.Len(t, list.Coverage.SilentShards, 1)
	assert.WithinDuration(t, killed, list.Coverage.SilentShards[0].Since, 12*time.Second, "it says hello every ten seconds")
	sendTenants(t, d.into[0], 7)
	assert.EqualValues(t, 147, d.answers.AwaitTotal(t, 147, "window", "5m").Total)
}

// L7: where a limit is reached, the metric and the log line name the rule.
func TestAReachedLimitNamesTheRule(t *testing.T) {
	t.Parallel()
	rules := `
      - {name: crowded, key: 'log.attributes["tenant"]', group_by: 'log.attributes["tenant"]', max_groups: 5}
      - {name: crowded at the gateway, key: 'log.attributes["tenant"]', group_by: 'log.attributes["tenant"]'}
      - {name: roomy, key: 'log.attributes["tenant"]', group_by: 'log.attributes["route"]'}
`
	ports := collector.NewPorts()
	c := collector.Start(t, strings.Replace(singleConfig("wall", "logs", rules), "point_queries: all", "point_queries: all\n    max_groups: 6", 1), ports)
	awaitGateway(t, c)
	sendTenants(t, collector.NewSender(t, ports.Address(t, "otlp")), 70)
	for _, rule := range []string{"crowded", "crowded at the gateway", "roomy"} {
		c.AwaitTotal(t, 70, "rule", rule, "window", "5m")
	}
	for prefix, want := range map[string]string{
		"otelcol_processor_topk_records_overflowed": `{rule="crowded"}`,
		"otelcol_receiver_trend_limit_reached":      `{limit="max_groups",rule="crowded at the gateway"}`,
	} {
		found := telemetry(t, c, prefix)
		assert.Contains(t, found, want)
		assert.NotContains(t, found, "roomy")
		assert.Equal(t, 1, strings.Count(found, "\n")+1, found)
	}
	said := c.Output()
	assert.Equal(t, 1, strings.Count(said, "More groups than max_groups"), said)
	assert.Equal(t, 1, strings.Count(said, "A limit is reached"), said)
	assert.Contains(t, said, `"rule": "crowded"`)
	assert.Contains(t, said, `"rule": "crowded at the gateway"`)
	assert.NotContains(t, said, "roomy")
}
