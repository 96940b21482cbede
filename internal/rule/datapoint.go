package rule

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

func (c *pointCursor) attributes() pcommon.Map {
	switch c.kind {
	case histogramPoint:
		return c.histogram.Attributes()
	case exponentialPoint:
		return c.exponential.Attributes()
	case summaryPoint:
		return c.summary.Attributes()
	default:
		return c.number.Attributes()
	}
}

func (c *pointCursor) time() pcommon.Timestamp {
	switch c.kind {
	case histogramPoint:
		return c.histogram.Timestamp()
	case exponentialPoint:
		return c.exponential.Timestamp()
	case summaryPoint:
		return c.summary.Timestamp()
	default:
		return c.number.Timestamp()
	}
}

func (c *pointCursor) startTime() pcommon.Timestamp {
	switch c.kind {
	case histogramPoint:
		return c.histogram.StartTimestamp()
	case exponentialPoint:
		return c.exponential.StartTimestamp()
	case summaryPoint:
		return c.summary.StartTimestamp()
	default:
		return c.number.StartTimestamp()
	}
}

func (c *pointCursor) flags(v *value) {
	switch c.kind {
	case histogramPoint:
		v.setInt(int64(c.histogram.Flags()))
	case exponentialPoint:
		v.setInt(int64(c.exponential.Flags()))
	case summaryPoint:
		v.setInt(int64(c.summary.Flags()))
	default:
		v.setInt(int64(c.number.Flags()))
	}
}

func (c *pointCursor) count(v *value) {
	switch c.kind {
	case histogramPoint:
		v.setInt(int64(c.histogram.Count()))
	case exponentialPoint:
		v.setInt(int64(c.exponential.Count()))
	case summaryPoint:
		v.setInt(int64(c.summary.Count()))
	}
}

func (c *pointCursor) sum(v *value) {
	switch c.kind {
	case histogramPoint:
		v.setDouble(c.histogram.Sum())
	case exponentialPoint:
		v.setDouble(c.exponential.Sum())
	case summaryPoint:
		v.setDouble(c.summary.Sum())
	}
}

// valueInt is 0 for a point that holds a double, as in OTTL; valueDouble likewise.
func (c *pointCursor) valueInt(v *value) {
	if c.kind == numberPoint {
		v.setInt(c.number.IntValue())
	}
}

func (c *pointCursor) valueDouble(v *value) {
	if c.kind == numberPoint {
		v.setDouble(c.number.DoubleValue())
	}
}

func (c *pointCursor) scale(v *value) {
	if c.kind == exponentialPoint {
		v.setInt(int64(c.exponential.Scale()))
	}
}

func (c *pointCursor) zeroCount(v *value) {
	if c.kind == exponentialPoint {
		v.setInt(int64(c.exponential.ZeroCount()))
	}
}

func (c *pointCursor) temporality(v *value) {
	switch c.metric.Type() {
	case pmetric.MetricTypeSum:
		v.setInt(int64(c.metric.Sum().AggregationTemporality()))
	case pmetric.MetricTypeHistogram:
		v.setInt(int64(c.metric.Histogram().AggregationTemporality()))
	case pmetric.MetricTypeExponentialHistogram:
		v.setInt(int64(c.metric.ExponentialHistogram().AggregationTemporality()))
	}
}

func (c *pointCursor) monotonic(v *value) {
	if c.metric.Type() == pmetric.MetricTypeSum {
		v.setBool(c.metric.Sum().IsMonotonic())
	}
}

// boxed is the data point as OTTL takes it.
func (c *pointCursor) boxed() any {
	switch c.kind {
	case histogramPoint:
		return c.histogram
	case exponentialPoint:
		return c.exponential
	case summaryPoint:
		return c.summary
	default:
		return c.number
	}
}

var pointSizer pmetric.ProtoMarshaler

func (c *pointCursor) size() int {
	switch c.kind {
	case histogramPoint:
		return pointSizer.HistogramDataPointSize(c.histogram)
	case exponentialPoint:
		return pointSizer.ExponentialHistogramDataPointSize(c.exponential)
	case summaryPoint:
		return pointSizer.SummaryDataPointSize(c.summary)
	default:
		return pointSizer.NumberDataPointSize(c.number)
	}
}
