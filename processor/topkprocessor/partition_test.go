package topkprocessor

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadatatest"
)

const stampTenants = tenants + "partition: {rule: tenants}\n"

// stamps of the records that came, in order; "" where there is none.
func stamps(sink *consumertest.LogsSink) (all []string) {
	for _, ld := range sink.AllLogs() {
		records := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
		for _, lr := range records.All() {
			text := ""
			if stamp, ok := lr.Attributes().Get("topk.partition"); ok {
				text = stamp.AsString()
			}
			all = append(all, text)
		}
	}
	sink.Reset()
	return all
}

func TestRecordsAreStampedWithTheirKeyAndCount(t *testing.T) {
	gw, sink := &fakeGateway{}, &consumertest.LogsSink{}
	p := startLogs(t, mustParse(t, stampTenants), gw, sink)
	assert.True(t, p.Capabilities().MutatesData)
	ld := tenantLogs(time.Now(), "a", "b", "a")
	ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(1).Attributes().PutStr("topk.partition", "whatever it was")
	keyless := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().AppendEmpty()
	keyless.Attributes().PutStr("other", "x")
	require.NoError(t, p.ConsumeLogs(t.Context(), ld))
	assert.Equal(t, []string{"a", "b", "a", ""}, stamps(sink), "a record that the rule does not count leaves as it came")
	assert.Equal(t, map[string]any{"other": "x"}, keyless.Attributes().AsRaw())
	stop(t, p)
	assert.EqualValues(t, 3, gw.merged("tenants").Total())
}

func TestRecordsOfEverySignalAreStamped(t *testing.T) {
	cfg := mustParse(t, `
rules:
  - name: services
    key: ['resource.attributes["service.name"]']
    signals: [logs, traces, metrics]
    default: none
partition: {rule: services}
`)
	f, set := newFactory((&fakeGateway{}).connect), processortest.NewNopSettings(metadata.Type)
	lp, err := f.CreateLogs(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	tp, err := f.CreateTraces(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	mp, err := f.CreateMetrics(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	for _, c := range []interface{ Capabilities() consumer.Capabilities }{lp, tp, mp} {
		assert.True(t, c.Capabilities().MutatesData)
	}
	require.NoError(t, lp.Start(t.Context(), componenttest.NewNopHost()))

	ld := plog.NewLogs()
	record := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	require.NoError(t, lp.ConsumeLogs(t.Context(), ld))
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	require.NoError(t, tp.ConsumeTraces(t.Context(), td))
	md := pmetric.NewMetrics()
	all := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	number := all.AppendEmpty().SetEmptySum().DataPoints().AppendEmpty()
	gauge := all.AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
	histogram := all.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty()
	exponential := all.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	summary := all.AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty()
	require.NoError(t, mp.ConsumeMetrics(t.Context(), md))

	want := map[string]any{"topk.partition": "none"}
	assert.Equal(t, want, record.Attributes().AsRaw())
	assert.Equal(t, want, span.Attributes().AsRaw())
	assert.Equal(t, want, number.Attributes().AsRaw())
	assert.Equal(t, want, gauge.Attributes().AsRaw())
	assert.Equal(t, want, histogram.Attributes().AsRaw())
	assert.Equal(t, want, exponential.Attributes().AsRaw())
	assert.Equal(t, want, summary.Attributes().AsRaw())
	stop(t, lp)
	stop(t, tp)
	stop(t, mp)
}

func TestOtherSignalsAreNotChanged(t *testing.T) {
	cfg := mustParse(t, stampTenants+"  \n")
	cfg.Rules = append(cfg.Rules, mustParse(t, "rules: [{name: spans, key: span.name}]").Rules...)
	f, set := newFactory((&fakeGateway{}).connect), processortest.NewNopSettings(metadata.Type)
	tp, err := f.CreateTraces(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	assert.False(t, tp.Capabilities().MutatesData)
	lp, err := f.CreateLogs(t.Context(), set, cfg, consumertest.NewNop())
	require.NoError(t, err)
	require.NoError(t, tp.Start(t.Context(), componenttest.NewNopHost()))
	td := ptrace.NewTraces()
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	td.MarkReadOnly()
	require.NoError(t, tp.ConsumeTraces(t.Context(), td), "it would panic if it wrote")
	stop(t, tp)
	stop(t, lp)
}

func TestARuleThatNoGatewayTakesIsStampedAndNotCounted(t *testing.T) {
	for _, tt := range []struct{ name, gateways string }{
		{"none", "gateways: []\n"},
		{"one of other rules", "gateways: [{endpoint: 'localhost:1', rules: [bodies]}]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			yaml := stampTenants + tt.gateways
			if tt.name != "none" {
				yaml = strings.Replace(yaml, "partition:", "  - {name: bodies, key: log.body, default: none}\npartition:", 1)
			}
			gw, sink := &fakeGateway{}, &consumertest.LogsSink{}
			p := startLogs(t, mustParse(t, yaml), gw, sink)
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
			assert.Equal(t, []string{"a", "b"}, stamps(sink))
			stop(t, p)
			assert.Nil(t, gw.merged("tenants"))
			assert.Zero(t, p.(*logs).counter.ledgers[0].tally.counted.Load())
			if tt.name != "none" {
				assert.EqualValues(t, 2, gw.merged("bodies").Total())
			}
		})
	}
}

func TestHotKeysAreTold(t *testing.T) {
	tel := componenttest.NewTelemetry()
	defer func() { require.NoError(t, tel.Shutdown(t.Context())) }()
	n := 0
	p := startLogsWith(t, metadatatest.NewSettings(tel), mustParse(t, stampTenants+"gateways: []\n"), (&fakeGateway{}).connect, nil)
	require.NoError(t, p.ConsumeLogs(t.Context(), oneSecond(time.Now(), &n, 20)))
	one := []metricdata.DataPoint[int64]{{Attributes: attribute.NewSet(attribute.String("rule", "tenants")), Value: 1}}
	metadatatest.AssertEqualProcessorTopkHotKeys(t, tel, one, metricdatatest.IgnoreTimestamp())
	one[0].Value = 0
	metadatatest.AssertEqualProcessorTopkHotListFailures(t, tel, one, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualProcessorTopkPendingBytes(t, tel, []metricdata.DataPoint[int64]{{}}, metricdatatest.IgnoreTimestamp())
	stop(t, p)
}

// traffic of one second: a share of hot, and the rest of keys that do not come again.
func oneSecond(at time.Time, n *int, percent int) plog.Logs {
	names := make([]string, 1000)
	for i := range names {
		if names[i] = "hot"; i%100 >= percent {
			*n++
			names[i] = fmt.Sprint("cold-", *n)
		}
	}
	return tenantLogs(at, names...)
}

// salted counts how often each salt of a key came.
func salted(all []string, key string) map[string]int {
	counts := map[string]int{}
	for _, s := range all {
		if strings.HasPrefix(s, key) {
			counts[s]++
		}
	}
	return counts
}

func TestAHotKeyIsSpreadWithinSecondsAndWholeAgainWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &consumertest.LogsSink{}
		p := startLogs(t, mustParse(t, stampTenants), &fakeGateway{}, sink)
		n := 0
		run := func(seconds, percent int) map[string]int {
			for range seconds {
				sink.Reset()
				require.NoError(t, p.ConsumeLogs(t.Context(), oneSecond(time.Now(), &n, percent)))
				time.Sleep(time.Second)
			}
			all := stamps(sink)
			require.Len(t, all, 1000)
			for _, s := range all {
				if strings.HasPrefix(s, "cold-") {
					require.NotContains(t, s, "#")
				}
			}
			return salted(all, "hot")
		}
		assert.Empty(t, run(5, 0))
		counts := run(5, 20)
		assert.Len(t, counts, 16)
		for i := range 16 {
			assert.Positive(t, counts[fmt.Sprint("hot#", i)])
		}
		run(58, 0)
		assert.Equal(t, map[string]int{"hot": 10}, run(3, 1), "it has been cold for a minute, and what came since is little")
		stop(t, p)
	})
}

func TestAFewRecordsMakeNoKeyHot(t *testing.T) {
	sink := &consumertest.LogsSink{}
	p := startLogs(t, mustParse(t, stampTenants), &fakeGateway{}, sink)
	for range 50 {
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
	}
	assert.Equal(t, map[string]int{"a": 50}, salted(stamps(sink), "a"))
	stop(t, p)
}

func TestSaltsOfOneLeaveHotKeysWhole(t *testing.T) {
	sink, n := &consumertest.LogsSink{}, 0
	p := startLogs(t, mustParse(t, tenants+"partition: {rule: tenants, salts: 1}"), &fakeGateway{}, sink)
	for range 3 {
		require.NoError(t, p.ConsumeLogs(t.Context(), oneSecond(time.Now(), &n, 50)))
	}
	assert.Equal(t, map[string]int{"hot": 1500}, salted(stamps(sink), "hot"))
	stop(t, p)
}

func TestHotKeysAreThoseOfTheGatewayAndStayWhileItIsDown(t *testing.T) {
	var down atomic.Bool
	var list atomic.Pointer[string]
	answer := func(body string) { list.Store(&body) }
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/v1/trending?k=100&rule=tenants", r.URL.String())
		asked.Add(1)
		if down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, *list.Load())
	}))
	defer server.Close()
	answer(`{"as_of": null, "total": 0, "items": []}`)

	core, logged := observer.New(zap.InfoLevel)
	set := processortest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core)
	sink := &consumertest.LogsSink{}
	cfg := mustParse(t, tenants+"partition: {rule: tenants, salts: 2, lists: {endpoint: '"+server.URL+"/'}}")
	cfg.Partition.Get().Lists.Get().Interval = 10 * time.Millisecond
	p := startLogsWith(t, set, cfg, (&fakeGateway{}).connect, sink)
	pass := func() []string {
		require.NoError(t, p.ConsumeLogs(context.Background(), tenantLogs(time.Now(), "a", "a", "a", "a", "a", "a", "a", "a", "b", "c")))
		return stamps(sink)
	}
	whole := []string{"a", "a", "a", "a", "a", "a", "a", "a", "b", "c"}
	askedAgain := func() {
		before := asked.Load()
		require.Eventually(t, func() bool { return asked.Load() >= before+2 }, 10*time.Second, time.Millisecond)
	}
	askedAgain()
	assert.Equal(t, whole, pass(), "nothing was published yet")

	answer(`{"as_of": "2026-01-01T00:00:00Z", "total": 100000, "items": [
		{"key": "a", "estimate": 3000, "lower": 1000}, {"key": "b", "estimate": 2000, "lower": 999}]}`)
	hot := func() bool { return strings.HasPrefix(pass()[0], "a#") }
	require.Eventually(t, hot, 10*time.Second, time.Millisecond)
	assert.Equal(t, []string{"b", "c"}, pass()[8:], "b may have less than its share")

	down.Store(true)
	askedAgain()
	askedAgain()
	assert.True(t, hot(), "the last list holds")
	assert.GreaterOrEqual(t, p.(*logs).counter.partition.lists.failures.Load(), uint64(2))
	const cannot, again = "The list of hot keys cannot be read; the last one holds", "The list of hot keys can be read again"
	assert.Equal(t, 1, logged.FilterMessage(cannot).Len(), "it is said once")

	answer(`{"as_of": "2026-01-01T00:00:00Z", "total": 100000, "items": []}`)
	down.Store(false)
	require.Eventually(t, func() bool { return pass()[0] == "a" }, 10*time.Second, time.Millisecond)
	assert.Equal(t, 1, logged.FilterMessage(again).Len())
	answer("no JSON")
	require.Eventually(t, func() bool { return logged.FilterMessage(cannot).Len() == 2 }, 10*time.Second, time.Millisecond)
	stop(t, p)
}

func TestPartitionIsToldAllThatIsWrong(t *testing.T) {
	_, err := parse(t, tenants+`
partition:
  rule: tenant
  attribute: ""
  hot_share: 0
  salts: 65
  lists: {endpoint: "gateway:7070", interval: 0s, timeout: 0s}
`)
	for _, want := range []string{
		`partition.rule: "tenant" is the name of none of rules`,
		"partition.attribute: empty",
		"partition.hot_share: 0, allowed is 0.001 to 1",
		"partition.salts: 65, allowed is 1 to 64",
		`partition.lists.endpoint: "gateway:7070", allowed is a URL such as http://gateway:7070`,
		"partition.lists.interval: 0s, allowed is 1s to 1m0s",
		"partition.lists.timeout: 0s, more than 0s is needed",
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = parse(t, `
rules: [{name: events, key: spanevent.name}]
partition: {rule: events, salts: 1, lists: {endpoint: "http://gateway:7070?k=1"}}
`)
	for _, want := range []string{
		`partition.rule: "events" counts span events`,
		"partition.lists: with salts: 1 no key is salted",
		"allowed is a URL without a query",
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = parse(t, everySignal+"gateways: []\npartition: {rule: spans}")
	assert.ErrorContains(t, err, "gateways: none", "other rules are counted")
}
