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

func (c *pointCursor) flags() value {
	switch c.kind {
	case histogramPoint:
		return intValue(int64(c.histogram.Flags()))
	case exponentialPoint:
		return intValue(int64(c.exponential.Flags()))
	case summaryPoint:
		return intValue(int64(c.summary.Flags()))
	default:
		return intValue(int64(c.number.Flags()))
	}
}

func (c *pointCursor) count() value {
	switch c.kind {
	case histogramPoint:
		return intValue(int64(c.histogram.Count()))
	case exponentialPoint:
		return intValue(int64(c.exponential.Count()))
	case summaryPoint:
		return intValue(int64(c.summary.Count()))
	default:
		return value{}
	}
}

func (c *pointCursor) sum() value {
	switch c.kind {
	case histogramPoint:
		return doubleValue(c.histogram.Sum())
	case exponentialPoint:
		return doubleValue(c.exponential.Sum())
	case summaryPoint:
		return doubleValue(c.summary.Sum())
	default:
		return value{}
	}
}

// valueInt is 0 for a point that holds a double, as in OTTL; valueDouble likewise.
func (c *pointCursor) valueInt() value {
	if c.kind != numberPoint {
		return value{}
	}
	return intValue(c.number.IntValue())
}

func (c *pointCursor) valueDouble() value {
	if c.kind != numberPoint {
		return value{}
	}
	return doubleValue(c.number.DoubleValue())
}

func (c *pointCursor) scale() value {
	if c.kind != exponentialPoint {
		return value{}
	}
	return intValue(int64(c.exponential.Scale()))
}

func (c *pointCursor) zeroCount() value {
	if c.kind != exponentialPoint {
		return value{}
	}
	return intValue(int64(c.exponential.ZeroCount()))
}

func (c *pointCursor) temporality() value {
	switch c.metric.Type() {
	case pmetric.MetricTypeSum:
		return intValue(int64(c.metric.Sum().AggregationTemporality()))
	case pmetric.MetricTypeHistogram:
		return intValue(int64(c.metric.Histogram().AggregationTemporality()))
	case pmetric.MetricTypeExponentialHistogram:
		return intValue(int64(c.metric.ExponentialHistogram().AggregationTemporality()))
	default:
		return value{}
	}
}

func (c *pointCursor) monotonic() value {
	if c.metric.Type() != pmetric.MetricTypeSum {
		return value{}
	}
	return boolValue(c.metric.Sum().IsMonotonic())
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
