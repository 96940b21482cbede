package topkprocessor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

const everySignal = `
rules:
  - name: services
    key: ['resource.attributes["service.name"]']
    signals: [logs, traces, metrics]
  - name: spans
    key: [span.name]
    conditions: ['span.kind == SPAN_KIND_SERVER']
  - name: broken
    key: ['log.attributes["broken"]']
    weight: log.attributes["weight"]
    default: none
  - name: points
    key: [metric.name]
    group_by: datapoint.attributes["zone"]
`

var errFull = errors.New("downstream is full")

func TestRecordsPassUntouched(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
	}{{"taken", nil}, {"refused by the next", errFull}} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFactory((&fakeGateway{}).connect)
			cfg := mustParse(t, everySignal)
			set := processortest.NewNopSettings(metadata.Type)
			sent := struct {
				plog.Logs
				ptrace.Traces
				pmetric.Metrics
			}{someLogs(), someTraces(), someMetrics()}
			logBytes, spanBytes, pointBytes := marshal(t, sent.Logs, sent.Traces, sent.Metrics)
			sent.Logs.MarkReadOnly()
			sent.Traces.MarkReadOnly()
			sent.Metrics.MarkReadOnly()

			nextLogs, err := consumer.NewLogs(func(_ context.Context, ld plog.Logs) error {
				assert.Equal(t, sent.Logs, ld, "the very same")
				return tt.err
			})
			require.NoError(t, err)
			nextTraces, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
				assert.Equal(t, sent.Traces, td)
				return tt.err
			})
			require.NoError(t, err)
			nextMetrics, err := consumer.NewMetrics(func(_ context.Context, md pmetric.Metrics) error {
				assert.Equal(t, sent.Metrics, md)
				return tt.err
			})
			require.NoError(t, err)
			lp, err := f.CreateLogs(t.Context(), set, cfg, nextLogs)
			require.NoError(t, err)
			tp, err := f.CreateTraces(t.Context(), set, cfg, nextTraces)
			require.NoError(t, err)
			mp, err := f.CreateMetrics(t.Context(), set, cfg, nextMetrics)
			require.NoError(t, err)
			for _, p := range []component.Component{lp, tp, mp} {
				require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
				defer stop(t, p)
			}

			for _, c := range []interface{ Capabilities() consumer.Capabilities }{lp, tp, mp} {
				assert.False(t, c.Capabilities().MutatesData)
			}
			assert.Equal(t, tt.err, lp.ConsumeLogs(t.Context(), sent.Logs), "unchanged")
			assert.Equal(t, tt.err, tp.ConsumeTraces(t.Context(), sent.Traces))
			assert.Equal(t, tt.err, mp.ConsumeMetrics(t.Context(), sent.Metrics))

			logsAfter, spansAfter, pointsAfter := marshal(t, sent.Logs, sent.Traces, sent.Metrics)
			assert.Equal(t, logBytes, logsAfter)
			assert.Equal(t, spanBytes, spansAfter)
			assert.Equal(t, pointBytes, pointsAfter)

			judged := map[string]uint64{}
			for _, l := range lp.(*logs).counter.ledgers {
				judged[l.definition.Name] = l.tally.counted.Load() + l.tally.late.Load()
			}
			want := map[string]uint64{"services": 7, "spans": 1, "broken": 0, "points": 2}
			if tt.err != nil {
				want = map[string]uint64{"services": 0, "spans": 0, "broken": 0, "points": 0}
			}
			assert.Equal(t, want, judged)
		})
	}
}

func marshal(t *testing.T, ld plog.Logs, td ptrace.Traces, md pmetric.Metrics) (logs, spans, points []byte) {
	t.Helper()
	logs, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)
	spans, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	points, err = (&pmetric.ProtoMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	return logs, spans, points
}

func TestBatchCountsIfAndOnlyIfTheNextTookIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		var answer error
		next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { return answer })
		require.NoError(t, err)
		p := startLogs(t, mustParse(t, tenants), gw, next)
		now := time.Now()
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(now, "taken", "taken")))
		answer = errFull
		require.ErrorIs(t, p.ConsumeLogs(t.Context(), tenantLogs(now, "refused", "taken")), errFull)
		answer = nil
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(now, "taken")))
		stop(t, p)

		got := gw.merged("tenants")
		require.NotNil(t, got)
		assert.EqualValues(t, 3, got.Total())
		_, upper := got.Bounds("refused")
		assert.Zero(t, upper)
	})
}

func TestKeysAreTakenBeforeALaterConsumerEmptiesTheRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		next, err := consumer.NewLogs(func(_ context.Context, ld plog.Logs) error {
			ld.ResourceLogs().RemoveIf(func(plog.ResourceLogs) bool { return true })
			return nil
		}, consumer.WithCapabilities(consumer.Capabilities{MutatesData: true}))
		require.NoError(t, err)
		p := startLogs(t, mustParse(t, tenants), gw, next)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
		stop(t, p)
		assert.EqualValues(t, 2, gw.merged("tenants").Total())
	})
}

func TestFailedExpressionIsReturnedWhereAskedFor(t *testing.T) {
	p := startLogs(t, mustParse(t, `
rules:
  - name: ports
    key: ['Int(log.attributes["port"])']
    conditions: ['ParseJSON(log.attributes["tenant"])["a"] == "b"']
    error_mode: propagate
`), &fakeGateway{}, nil)
	defer stop(t, p)
	err := p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "no json"))
	require.Error(t, err)
	assert.Contains(t, err.Error(), `rule "ports"`)
}

func TestPipelinesOfOneConfigurationShareOneCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		f := newFactory(gw.connect)
		cfg := mustParse(t, tenants)
		set := processortest.NewNopSettings(metadata.Type)
		var all []processor.Logs
		for range 3 {
			p, err := f.CreateLogs(t.Context(), set, cfg, nopLogs(t))
			require.NoError(t, err)
			all = append(all, p)
		}
		other, err := f.CreateLogs(t.Context(), set, mustParse(t, tenants), nopLogs(t))
		require.NoError(t, err)
		assert.NotSame(t, all[0].(*logs).counter, other.(*logs).counter)
		stop(t, other)
		for _, p := range all {
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
		}
		for _, p := range all {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		}
		stop(t, all[0])
		stop(t, all[0])
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, gw.received(), 1, "one sender, and it runs until the last has stopped")
		assert.EqualValues(t, 3, gw.merged("tenants").Total())
		require.NoError(t, all[1].ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		stop(t, all[1])
		stop(t, all[2])
		assert.EqualValues(t, 4, gw.merged("tenants").Total())
		assert.Equal(t, 1, gw.finals())

		again, err := f.CreateLogs(t.Context(), set, cfg, nopLogs(t))
		require.NoError(t, err)
		assert.NotEqual(t, all[0].(*logs).counter.epoch, again.(*logs).counter.epoch, "a new epoch after a reload")
		stop(t, again)
	})
}

func TestReloadInTheMiddleOfAMinuteLosesNothing(t *testing.T) { // T5
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		f := newFactory(gw.connect)
		total := uint64(0)
		for range 3 {
			p, err := f.CreateLogs(t.Context(), processortest.NewNopSettings(metadata.Type), mustParse(t, tenants), nopLogs(t))
			require.NoError(t, err)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
			stop(t, p)
			require.Len(t, gw.states, 1, "all of one minute")
			total += gw.merged("tenants").Total()
			gw.forget()
		}
		assert.EqualValues(t, 6, total, "each under an epoch of its own")
	})
}

func nopLogs(t *testing.T) consumer.Logs {
	next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { return nil })
	require.NoError(t, err)
	return next
}

func TestRuleOfASignalThatNoPipelineCarriesIsAStartError(t *testing.T) {
	f := newFactory((&fakeGateway{}).connect)
	p, err := f.CreateLogs(t.Context(), processortest.NewNopSettings(metadata.Type), mustParse(t, everySignal), nopLogs(t))
	require.NoError(t, err)
	err = p.Start(t.Context(), componenttest.NewNopHost())
	require.Error(t, err)
	assert.Contains(t, err.Error(), `rules[1]: "spans" counts [traces]`)
	assert.Contains(t, err.Error(), `rules[3]: "points" counts [metrics]`)
	assert.NotContains(t, err.Error(), "rules[0]", "one of its signals is carried")
	stop(t, p)
}

func someLogs() plog.Logs {
	ld := tenantLogs(time.Unix(1000, 5), "a", "\xff invalid", "")
	rl := ld.ResourceLogs().At(0)
	rl.Resource().Attributes().PutStr("service.name", "shop")
	rl.SetSchemaUrl("schema")
	lr := rl.ScopeLogs().At(0).LogRecords().AppendEmpty()
	lr.Body().SetEmptyMap().PutEmptySlice("list").AppendEmpty().SetBool(true)
	lr.Attributes().PutStr("weight", "not a number")
	lr.SetDroppedAttributesCount(3)
	return ld
}

func someTraces() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("GET /")
	s.SetKind(ptrace.SpanKindServer)
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Unix(2000, 1)))
	s.Events().AppendEmpty().SetName("exception")
	return td
}

func someMetrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr("service.name", "shop")
	ms := rm.ScopeMetrics().AppendEmpty().Metrics()
	sum := ms.AppendEmpty()
	sum.SetName("requests")
	dp := sum.SetEmptySum().DataPoints().AppendEmpty()
	dp.SetIntValue(3)
	dp.Attributes().PutStr("zone", "eu")
	h := ms.AppendEmpty()
	h.SetName("latency")
	h.SetEmptyHistogram().DataPoints().AppendEmpty().BucketCounts().FromRaw([]uint64{1, 2})
	return md
}
