package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/testbed/collector"
)

const passthrough = `
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: <otlp>
  trend:
    protocols:
      grpc:
        endpoint: <states>
    clock: event
    publish_interval: 100ms
processors:
  topk:
    clock: event
    emit_interval: 100ms
    gateways:
      - endpoint: <states>
    rules:
      - name: services
        key: 'resource.attributes["service.name"]'
        signals: [logs, traces, metrics]
      - name: names
        key: [span.name, 'span.attributes["text"]']
        weight: bytes
      - name: bodies
        key: log.body
        conditions: ['log.severity_number >= 0']
      - name: points
        key: [metric.name, 'datapoint.attributes["text"]']
exporters:
  otlp_grpc:
    endpoint: <sink>
    compression: none
    tls:
      insecure: true
    sending_queue:
      enabled: false
    retry_on_failure:
      enabled: false
  topk:
    endpoint: <api>
service:
  pipelines:
    logs:
      receivers: [otlp]
      processors: [topk]
      exporters: [otlp_grpc]
    traces:
      receivers: [otlp]
      processors: [topk]
      exporters: [otlp_grpc]
    metrics:
      receivers: [otlp]
      processors: [topk]
      exporters: [otlp_grpc]
    logs/lists:
      receivers: [trend]
      exporters: [topk]
`

func TestRecordsLeaveByteForByteAsTheyCame(t *testing.T) {
	ports := collector.NewPorts()
	sink := collector.NewSink(t, ports.Address(t, "sink"))
	c := collector.Start(t, passthrough, ports)
	sender := collector.NewSender(t, ports.Address(t, "otlp"))

	logs, err := (&plog.ProtoMarshaler{}).MarshalLogs(oddLogs())
	require.NoError(t, err)
	traces, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(oddTraces())
	require.NoError(t, err)
	metrics, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(oddMetrics())
	require.NoError(t, err)
	for method, request := range map[string][]byte{
		collector.LogsMethod: logs, collector.TracesMethod: traces, collector.MetricsMethod: metrics,
	} {
		require.NoError(t, sender.Raw(t.Context(), method, request))
		require.Len(t, sink.Requests(method), 1)
		assert.Equal(t, request, sink.Requests(method)[0], method)
	}
	list := c.AwaitTotal(t, 3+3+7, "rule", "services", "window", "5m")
	assert.Equal(t, "odd", list.Items[0].Key)
	c.AwaitTotal(t, 7, "rule", "points", "window", "5m")
}

func TestABatchCountsIfAndOnlyIfItWasTaken(t *testing.T) {
	ports := collector.NewPorts()
	sink := collector.NewSink(t, ports.Address(t, "sink"))
	c := collector.Start(t, passthrough, ports)
	sender := collector.NewSender(t, ports.Address(t, "otlp"))

	sink.Refuse(2)
	for range 2 {
		err := sender.Logs(t.Context(), oddLogs())
		require.ErrorContains(t, err, "refused by the test")
	}
	err := sender.Logs(t.Context(), oddLogs())
	require.NoError(t, err)
	c.AwaitTotal(t, 3, "rule", "services", "window", "5m")
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// fill a map with a value of each type, and with what is easily lost.
func fill(attributes pcommon.Map) {
	attributes.PutStr("text", "t\x00ext")
	attributes.PutStr("invalid", "a\xffb")
	attributes.PutStr("", "")
	attributes.PutInt("int", -1)
	attributes.PutDouble("double", 1e-300)
	attributes.PutBool("bool", false)
	attributes.PutEmptyBytes("bytes").FromRaw([]byte{0, 255})
	attributes.PutEmpty("nothing")
	attributes.PutEmptySlice("list").AppendEmpty().SetEmptyMap().PutEmpty("deep")
	attributes.PutEmptyMap("map").PutEmptySlice("list").AppendEmpty().SetInt(0)
}

func fillResource(resource pcommon.Resource, scope pcommon.InstrumentationScope) {
	fill(resource.Attributes())
	resource.Attributes().PutStr("service.name", "odd")
	resource.SetDroppedAttributesCount(3)
	scope.SetName("scope")
	scope.SetVersion("1")
	scope.SetDroppedAttributesCount(4)
	fill(scope.Attributes())
}

func oddLogs() plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.SetSchemaUrl("https://example.com/resource")
	sl := rl.ScopeLogs().AppendEmpty()
	sl.SetSchemaUrl("https://example.com/scope")
	fillResource(rl.Resource(), sl.Scope())
	lr := sl.LogRecords().AppendEmpty()
	lr.SetTimestamp(pcommon.NewTimestampFromTime(noon))
	lr.SetObservedTimestamp(1)
	lr.SetSeverityNumber(plog.SeverityNumberFatal4)
	lr.SetSeverityText("worst")
	lr.SetEventName("event")
	lr.SetFlags(7)
	lr.SetTraceID([16]byte{1})
	lr.SetSpanID([8]byte{2})
	lr.SetDroppedAttributesCount(5)
	fill(lr.Attributes())
	fill(lr.Body().SetEmptyMap())
	sl.LogRecords().AppendEmpty().SetTimestamp(pcommon.NewTimestampFromTime(noon))
	lr.CopyTo(sl.LogRecords().AppendEmpty())
	rl.ScopeLogs().AppendEmpty()
	ld.ResourceLogs().AppendEmpty()
	return ld
}

func oddTraces() ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	ss := rs.ScopeSpans().AppendEmpty()
	fillResource(rs.Resource(), ss.Scope())
	span := ss.Spans().AppendEmpty()
	span.SetName("span")
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{2})
	span.SetParentSpanID([8]byte{3})
	span.TraceState().FromRaw("a=b")
	span.SetFlags(0x101)
	span.SetKind(ptrace.SpanKindConsumer)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(noon.Add(-time.Second)))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(noon))
	span.SetDroppedEventsCount(1)
	span.SetDroppedLinksCount(2)
	span.Status().SetCode(ptrace.StatusCodeError)
	span.Status().SetMessage("failed")
	fill(span.Attributes())
	event := span.Events().AppendEmpty()
	event.SetName("event")
	event.SetTimestamp(1)
	fill(event.Attributes())
	link := span.Links().AppendEmpty()
	link.SetTraceID([16]byte{9})
	link.SetFlags(1)
	fill(link.Attributes())
	for range 2 {
		span.CopyTo(ss.Spans().AppendEmpty())
	}
	td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	return td
}

func oddMetrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	sm := rm.ScopeMetrics().AppendEmpty()
	fillResource(rm.Resource(), sm.Scope())
	next := func(name string) pmetric.Metric {
		m := sm.Metrics().AppendEmpty()
		m.SetName(name)
		m.SetUnit("By")
		m.SetDescription("odd")
		fill(m.Metadata())
		return m
	}
	at := pcommon.NewTimestampFromTime(noon)
	gauge := next("gauge").SetEmptyGauge()
	sum := next("sum").SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	for _, list := range []pmetric.NumberDataPointSlice{gauge.DataPoints(), sum.DataPoints()} {
		for range 2 {
			p := list.AppendEmpty()
			p.SetTimestamp(at)
			p.SetIntValue(0)
			fill(p.Attributes())
			exemplar := p.Exemplars().AppendEmpty()
			exemplar.SetDoubleValue(1)
			fill(exemplar.FilteredAttributes())
		}
	}
	histogram := next("histogram").SetEmptyHistogram().DataPoints().AppendEmpty()
	histogram.SetTimestamp(at)
	histogram.BucketCounts().FromRaw([]uint64{1, 0, 2})
	histogram.ExplicitBounds().FromRaw([]float64{-1, 1})
	histogram.SetMin(0)
	fill(histogram.Attributes())
	exponential := next("exponential").SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	exponential.SetTimestamp(at)
	exponential.SetScale(-3)
	exponential.Positive().SetOffset(-2)
	exponential.Positive().BucketCounts().FromRaw([]uint64{0, 1})
	fill(exponential.Attributes())
	summary := next("summary").SetEmptySummary().DataPoints().AppendEmpty()
	summary.SetTimestamp(at)
	summary.QuantileValues().AppendEmpty().SetQuantile(0.5)
	fill(summary.Attributes())
	next("nothing")
	return md
}
