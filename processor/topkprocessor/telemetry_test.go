package topkprocessor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadatatest"
)

func TestNothingIsLeftOutWithoutACounter(t *testing.T) {
	tel := componenttest.NewTelemetry()
	defer func() { require.NoError(t, tel.Shutdown(t.Context())) }()
	set := metadatatest.NewSettings(tel)
	cfg := mustParse(t, `
emit_interval: 30s
rules:
  - name: tenants
    key: ['log.attributes["tenant"]']
    group_by: log.attributes["region"]
    max_groups: 2
    max_key_bytes: 64
`)
	p := startLogsWith(t, set, cfg, (&fakeGateway{}).connect, nil)
	now := time.Now()
	long := make([]byte, 100)
	for i := range long {
		long[i] = 'x'
	}
	keyless := tenantLogs(now, "")
	keyless.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().Remove("tenant")
	for _, ld := range []plog.Logs{
		regionLogs(now, 2, regions(0, 5)...),
		tenantLogs(now.Add(-time.Hour), "late"),
		tenantLogs(now.Add(time.Hour), "future"),
		tenantLogs(now, "\xff", string(long)),
		keyless,
	} {
		require.NoError(t, p.ConsumeLogs(t.Context(), ld))
	}

	one := attribute.NewSet(attribute.String("rule", "tenants"))
	point := func(value int64) []metricdata.DataPoint[int64] {
		return []metricdata.DataPoint[int64]{{Attributes: one, Value: value}}
	}
	reasons := func(values map[string]int64) (points []metricdata.DataPoint[int64]) {
		for reason, value := range values {
			points = append(points, metricdata.DataPoint[int64]{
				Attributes: attribute.NewSet(attribute.String("rule", "tenants"), attribute.String("reason", reason)), Value: value,
			})
		}
		return points
	}
	ignore := metricdatatest.IgnoreTimestamp()
	metadatatest.AssertEqualProcessorTopkRecordsCounted(t, tel, point(12), ignore)
	metadatatest.AssertEqualProcessorTopkRecordsOverflowed(t, tel, point(6), ignore)
	metadatatest.AssertEqualProcessorTopkRecordsLate(t, tel, point(1), ignore)
	metadatatest.AssertEqualProcessorTopkRecordsFuture(t, tel, point(1), ignore)
	metadatatest.AssertEqualProcessorTopkGroupsOpen(t, tel, point(4), ignore)
	metadatatest.AssertEqualProcessorTopkKeysAltered(t, tel, reasons(map[string]int64{"cut": 1, "repaired": 1}), ignore)
	metadatatest.AssertEqualProcessorTopkRecordsSkipped(t, tel, reasons(map[string]int64{
		"unmatched": 0, "missing_key": 1, "bad_weight": 0, "error": 0, "total": 0,
	}), ignore)
	stop(t, p)
}

func TestGatewaysAreCountedApart(t *testing.T) {
	tel := componenttest.NewTelemetry()
	defer func() { require.NoError(t, tel.Shutdown(t.Context())) }()
	down := &fakeGateway{}
	down.down.Store(true)
	cfg := mustParse(t, twoGateways+"emit_interval: 30s\n")
	p := startLogsWith(t, metadatatest.NewSettings(tel), cfg, connectEach(&fakeGateway{}, down), nil)
	c := p.(*logs).counter
	require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
	c.merger.closeAll(time.Now().UnixNano())
	require.Eventually(t, func() bool {
		n, _ := c.pending.Count(0)
		return n == 0 && c.senders[1].Stats.Failed.Load() > 0
	}, 10*time.Second, time.Millisecond)

	points := func(first, second int64) (points []metricdata.DataPoint[int64]) {
		for i, value := range []int64{first, second} {
			points = append(points, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.Int("gateway", i)), Value: value})
		}
		return points
	}
	ignore := metricdatatest.IgnoreTimestamp()
	metadatatest.AssertEqualProcessorTopkFinalsPending(t, tel, points(0, 1), ignore)
	metadatatest.AssertEqualProcessorTopkStatesSent(t, tel, points(1, 0), ignore)
	require.Eventually(t, c.senders[1].Stats.Down.Load, 10*time.Second, time.Millisecond)
	metadatatest.AssertEqualProcessorTopkGatewayUp(t, tel, points(1, 0), ignore)
	_, bytes := c.pending.Count(1)
	metadatatest.AssertEqualProcessorTopkPendingBytes(t, tel, []metricdata.DataPoint[int64]{{Value: bytes}}, ignore)
	for name, check := range map[string]int{"requests": 2 * 3, "dropped": 2 * int(uplink.DropReasons), "refused": 2} {
		metric := map[string]string{
			"requests": "otelcol_processor_topk_requests", "dropped": "otelcol_processor_topk_finals_dropped", "refused": "otelcol_processor_topk_states_refused",
		}[name]
		got, err := tel.GetMetric(metric)
		require.NoError(t, err)
		require.Len(t, got.Data.(metricdata.Sum[int64]).DataPoints, check, name)
	}
	stop(t, p)
}
