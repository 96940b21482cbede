package rule

import (
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl/contexts/ottldatapoint"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// pointCursor stands on a data point: one of number, histogram, exponential and summary.
type pointCursor struct {
	place
	metric      pmetric.Metric
	kind        pointKind
	number      pmetric.NumberDataPoint
	histogram   pmetric.HistogramDataPoint
	exponential pmetric.ExponentialHistogramDataPoint
	summary     pmetric.SummaryDataPoint
	ottl        *ottldatapoint.TransformContext
}

type pointKind uint8

const (
	numberPoint pointKind = iota
	histogramPoint
	exponentialPoint
	summaryPoint
)

var dataPoints = func() *kind[pointCursor, *ottldatapoint.TransformContext] {
	resource, scope := outer(func(c *pointCursor) *place { return &c.place })
	return &kind[pointCursor, *ottldatapoint.TransformContext]{
		name:   "data points",
		signal: SignalMetrics,
		contexts: map[string]fields[pointCursor]{
			"datapoint": {
				level: perRecord,
				maps: map[string]func(*pointCursor) pcommon.Map{
					"attributes": (*pointCursor).attributes,
				},
				plain: map[string]func(*pointCursor, *value){
					"value_int":            (*pointCursor).valueInt,
					"value_double":         (*pointCursor).valueDouble,
					"count":                (*pointCursor).count,
					"sum":                  (*pointCursor).sum,
					"scale":                (*pointCursor).scale,
					"zero_count":           (*pointCursor).zeroCount,
					"flags":                (*pointCursor).flags,
					"time_unix_nano":       func(c *pointCursor, v *value) { v.setInt(int64(c.time())) },
					"start_time_unix_nano": func(c *pointCursor, v *value) { v.setInt(int64(c.startTime())) },
				},
			},
			"metric": {
				level: perParent,
				maps: map[string]func(*pointCursor) pcommon.Map{
					"metadata": func(c *pointCursor) pcommon.Map { return c.metric.Metadata() },
				},
				plain: map[string]func(*pointCursor, *value){
					"name":                    func(c *pointCursor, v *value) { v.setText(c.metric.Name()) },
					"description":             func(c *pointCursor, v *value) { v.setText(c.metric.Description()) },
					"unit":                    func(c *pointCursor, v *value) { v.setText(c.metric.Unit()) },
					"type":                    func(c *pointCursor, v *value) { v.setInt(int64(c.metric.Type())) },
					"aggregation_temporality": (*pointCursor).temporality,
					"is_monotonic":            (*pointCursor).monotonic,
				},
			},
			"scope":    scope,
			"resource": resource,
		},
		transform: func(c *pointCursor) *ottldatapoint.TransformContext { return c.ottl },
		size:      (*pointCursor).size,
		parser: func(functions map[string]ottl.Factory[*ottldatapoint.TransformContext], set component.TelemetrySettings, names ottl.Option[*ottldatapoint.TransformContext]) (ottl.Parser[*ottldatapoint.TransformContext], error) {
			return ottldatapoint.NewParser(functions, set, names)
		},
		keep: func(r *Rule, p *plan[pointCursor]) { r.points = p },
	}
}()

// Metrics appends to b what the rule finds; now (Unix nanoseconds) is the time of data points that carry none.
func (r *Rule) Metrics(md pmetric.Metrics, now int64, b *Batch) {
	p := r.points
	if p == nil {
		return
	}
	p.begin(b, md.DataPointCount())
	c := &b.points
	for i := range md.ResourceMetrics().Len() {
		rm := md.ResourceMetrics().At(i)
		c.resource, c.resourceSchema = rm.Resource(), rm.SchemaUrl()
		p.enter(perResource, c, b)
		for j := range rm.ScopeMetrics().Len() {
			sm := rm.ScopeMetrics().At(j)
			c.scope, c.scopeSchema = sm.Scope(), sm.SchemaUrl()
			p.enter(perScope, c, b)
			for k := range sm.Metrics().Len() {
				c.metric = sm.Metrics().At(k)
				p.enter(perParent, c, b)
				for range c.points() {
					if p.expresses {
						c.ottl = ottldatapoint.NewTransformContext(rm, sm, c.metric, c.boxed())
					}
					p.record(c, firstTime(now, c.time(), 0), b)
					if p.expresses {
						c.ottl.Close()
					}
				}
			}
		}
	}
	*c = pointCursor{}
}

// points moves c over the data points of its metric.
func (c *pointCursor) points() func(yield func() bool) {
	return func(yield func() bool) {
		switch c.metric.Type() {
		case pmetric.MetricTypeGauge:
			c.numbers(c.metric.Gauge().DataPoints(), yield)
		case pmetric.MetricTypeSum:
			c.numbers(c.metric.Sum().DataPoints(), yield)
		case pmetric.MetricTypeHistogram:
			c.kind = histogramPoint
			for i := range c.metric.Histogram().DataPoints().Len() {
				if c.histogram = c.metric.Histogram().DataPoints().At(i); !yield() {
					return
				}
			}
		case pmetric.MetricTypeExponentialHistogram:
			c.kind = exponentialPoint
			for i := range c.metric.ExponentialHistogram().DataPoints().Len() {
				if c.exponential = c.metric.ExponentialHistogram().DataPoints().At(i); !yield() {
					return
				}
			}
		case pmetric.MetricTypeSummary:
			c.kind = summaryPoint
			for i := range c.metric.Summary().DataPoints().Len() {
				if c.summary = c.metric.Summary().DataPoints().At(i); !yield() {
					return
				}
			}
		}
	}
}

func (c *pointCursor) numbers(points pmetric.NumberDataPointSlice, yield func() bool) {
	c.kind = numberPoint
	for i := range points.Len() {
		if c.number = points.At(i); !yield() {
			return
		}
	}
}
