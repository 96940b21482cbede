package rule

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"pgregory.net/rapid"
)

func drawTraces(t *rapid.T) ptrace.Traces {
	td := ptrace.NewTraces()
	for range rapid.IntRange(0, 2).Draw(t, "resources") {
		rs := td.ResourceSpans().AppendEmpty()
		rs.SetSchemaUrl(weirdText().Draw(t, "schema"))
		drawResource(t, rs.Resource())
		ss := rs.ScopeSpans().AppendEmpty()
		ss.SetSchemaUrl(weirdText().Draw(t, "schema"))
		drawScope(t, ss.Scope())
		for range rapid.IntRange(0, 3).Draw(t, "spans") {
			drawSpan(t, ss.Spans().AppendEmpty())
		}
	}
	td.MarkReadOnly()
	return td
}

func drawSpan(t *rapid.T, s ptrace.Span) {
	s.SetName(weirdText().Draw(t, "name"))
	s.SetKind(ptrace.SpanKind(rapid.Int32Range(0, 6).Draw(t, "kind")))
	s.Status().SetCode(ptrace.StatusCode(rapid.Int32Range(0, 3).Draw(t, "status")))
	s.Status().SetMessage(weirdText().Draw(t, "message"))
	s.SetTraceID(drawTraceID(t))
	s.SetSpanID(drawSpanID(t))
	s.SetParentSpanID(drawSpanID(t))
	s.TraceState().FromRaw(weirdText().Draw(t, "state"))
	s.SetFlags(rapid.Uint32().Draw(t, "flags"))
	s.SetStartTimestamp(drawTime().Draw(t, "start"))
	s.SetEndTimestamp(drawTime().Draw(t, "end"))
	s.SetDroppedAttributesCount(rapid.Uint32().Draw(t, "dropped"))
	s.SetDroppedEventsCount(rapid.Uint32().Draw(t, "dropped"))
	s.SetDroppedLinksCount(rapid.Uint32().Draw(t, "dropped"))
	fillMap(t, s.Attributes(), 2, attributeNames)
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		e := s.Events().AppendEmpty()
		e.SetName(weirdText().Draw(t, "event"))
		e.SetTimestamp(drawTime().Draw(t, "time"))
		e.SetDroppedAttributesCount(rapid.Uint32().Draw(t, "dropped"))
		fillMap(t, e.Attributes(), 2, attributeNames)
	}
}

func drawMetrics(t *rapid.T) pmetric.Metrics {
	md := pmetric.NewMetrics()
	for range rapid.IntRange(0, 2).Draw(t, "resources") {
		rm := md.ResourceMetrics().AppendEmpty()
		rm.SetSchemaUrl(weirdText().Draw(t, "schema"))
		drawResource(t, rm.Resource())
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.SetSchemaUrl(weirdText().Draw(t, "schema"))
		drawScope(t, sm.Scope())
		for range rapid.IntRange(0, 3).Draw(t, "metrics") {
			drawMetric(t, sm.Metrics().AppendEmpty())
		}
	}
	md.MarkReadOnly()
	return md
}

func drawMetric(t *rapid.T, m pmetric.Metric) {
	m.SetName(weirdText().Draw(t, "name"))
	m.SetUnit(weirdText().Draw(t, "unit"))
	m.SetDescription(weirdText().Draw(t, "description"))
	fillMap(t, m.Metadata(), 1, attributeNames)
	temporality := pmetric.AggregationTemporality(rapid.Int32Range(0, 2).Draw(t, "temporality"))
	points := rapid.IntRange(0, 2).Draw(t, "points")
	switch rapid.IntRange(0, 5).Draw(t, "metric type") {
	case 0:
		gauge := m.SetEmptyGauge()
		for range points {
			drawNumber(t, gauge.DataPoints().AppendEmpty())
		}
	case 1:
		sum := m.SetEmptySum()
		sum.SetIsMonotonic(rapid.Bool().Draw(t, "monotonic"))
		sum.SetAggregationTemporality(temporality)
		for range points {
			drawNumber(t, sum.DataPoints().AppendEmpty())
		}
	case 2:
		histogram := m.SetEmptyHistogram()
		histogram.SetAggregationTemporality(temporality)
		for range points {
			p := histogram.DataPoints().AppendEmpty()
			drawPoint(t, p)
			p.SetCount(rapid.Uint64().Draw(t, "count"))
			p.SetSum(anyDouble().Draw(t, "sum"))
		}
	case 3:
		histogram := m.SetEmptyExponentialHistogram()
		histogram.SetAggregationTemporality(temporality)
		for range points {
			p := histogram.DataPoints().AppendEmpty()
			drawPoint(t, p)
			p.SetCount(rapid.Uint64().Draw(t, "count"))
			p.SetSum(anyDouble().Draw(t, "sum"))
			p.SetScale(rapid.Int32().Draw(t, "scale"))
			p.SetZeroCount(rapid.Uint64().Draw(t, "zeros"))
		}
	case 4:
		summary := m.SetEmptySummary()
		for range points {
			p := summary.DataPoints().AppendEmpty()
			drawPoint(t, p)
			p.SetCount(rapid.Uint64().Draw(t, "count"))
			p.SetSum(anyDouble().Draw(t, "sum"))
		}
	}
}

func drawNumber(t *rapid.T, p pmetric.NumberDataPoint) {
	drawPoint(t, p)
	if rapid.Bool().Draw(t, "is int") {
		p.SetIntValue(rapid.Int64().Draw(t, "int"))
	} else {
		p.SetDoubleValue(anyDouble().Draw(t, "double"))
	}
}

// drawPoint draws what data points of all types have.
func drawPoint(t *rapid.T, p interface {
	Attributes() pcommon.Map
	SetTimestamp(pcommon.Timestamp)
	SetStartTimestamp(pcommon.Timestamp)
	SetFlags(pmetric.DataPointFlags)
},
) {
	fillMap(t, p.Attributes(), 2, attributeNames)
	p.SetTimestamp(drawTime().Draw(t, "time"))
	p.SetStartTimestamp(drawTime().Draw(t, "start"))
	p.SetFlags(pmetric.DataPointFlags(rapid.Uint32().Draw(t, "flags")))
}
