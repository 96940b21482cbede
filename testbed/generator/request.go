package generator

import (
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Logs makes one request of n log records of time at, one resource a region. Each record is handed to seen, which may be nil.
func (g *Generator) Logs(n int, at time.Time, seen func(Record)) plog.Logs {
	ld := plog.NewLogs()
	for region, count := range g.perRegion(n) {
		if count == 0 {
			continue
		}
		rl := ld.ResourceLogs().AppendEmpty()
		putResource(rl.Resource(), region)
		records := rl.ScopeLogs().AppendEmpty().LogRecords()
		records.EnsureCapacity(count)
		for range count {
			r := g.next(region)
			lr := records.AppendEmpty()
			lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
			lr.SetObservedTimestamp(lr.Timestamp())
			lr.SetSeverityNumber(plog.SeverityNumberInfo)
			if r.Failed {
				lr.SetSeverityNumber(plog.SeverityNumberError)
			}
			lr.SetSeverityText(lr.SeverityNumber().String())
			lr.Body().SetStr(r.Route)
			r.putAttributes(lr.Attributes())
			if seen != nil {
				seen(r)
			}
		}
	}
	return ld
}

// Traces makes one request of n spans that end at time at, one resource a region. Each is handed to seen, which may be nil.
func (g *Generator) Traces(n int, at time.Time, seen func(Record)) ptrace.Traces {
	td := ptrace.NewTraces()
	for region, count := range g.perRegion(n) {
		if count == 0 {
			continue
		}
		rs := td.ResourceSpans().AppendEmpty()
		putResource(rs.Resource(), region)
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		spans.EnsureCapacity(count)
		for range count {
			r := g.next(region)
			span := spans.AppendEmpty()
			id := traceID(g.rng)
			span.SetTraceID(id)
			span.SetSpanID(pcommon.SpanID(id[:8]))
			span.SetKind(ptrace.SpanKindServer)
			span.SetName(r.Route)
			span.SetStartTimestamp(pcommon.NewTimestampFromTime(at.Add(-time.Duration(g.rng.ExpFloat64() * 2e7))))
			span.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
			if r.Failed {
				span.Status().SetCode(ptrace.StatusCodeError)
			}
			r.putAttributes(span.Attributes())
			if seen != nil {
				seen(r)
			}
		}
	}
	return td
}

func putResource(res pcommon.Resource, region int) {
	res.Attributes().PutStr("service.name", "shop")
	res.Attributes().PutStr("cloud.region", RegionName(region))
}

func (r Record) putAttributes(attributes pcommon.Map) {
	attributes.EnsureCapacity(4)
	attributes.PutStr("tenant.id", r.Tenant)
	attributes.PutStr("client.address", r.Client)
	attributes.PutStr("http.route", r.Route)
	attributes.PutInt("http.response.body.size", r.Bytes)
}

func traceID(rng *rand.Rand) (id pcommon.TraceID) {
	for i := 0; i < len(id); i += 8 {
		x := rng.Uint64()
		for j := range 8 {
			id[i+j] = byte(x >> (8 * j))
		}
	}
	return id
}
