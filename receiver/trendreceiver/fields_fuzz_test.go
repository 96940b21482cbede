package trendreceiver

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
)

// FuzzCountFields: a request that passes is decoded to no more than was counted.
func FuzzCountFields(f *testing.F) {
	s := newShard(f, 1)
	state, err := (&plog.ProtoMarshaler{}).MarshalLogs(s.request(s.state(time.Unix(1000, 0), rule.Group{}, map[string]uint64{"a": 1})))
	require.NoError(f, err)
	for _, seed := range [][]byte{
		state, emptyRecords(10), inside(nested(5), 5, 2, 2, 1), inside(bytes.Repeat([]byte{6<<3 | 2, 0}, 10), 2, 2, 1),
		inside(nested(5), 2, 1, 1, 1), inside(nested(5), 2, 3, 1, 2, 1), inside([]byte{3<<3 | 2, 0}, 3, 1, 1), inside(emptyRecords(3), 1000, 1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		n, err := countFields(request)
		if err != nil || n > maxFields {
			return
		}
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(request)
		if err != nil {
			return
		}
		if decoded := decodedFields(ld); decoded > n {
			t.Fatalf("%d counted, %d decoded", n, decoded)
		}
	})
}

// decodedFields counts the objects of a request, at any depth.
func decodedFields(ld plog.Logs) (n int) {
	for _, rl := range ld.ResourceLogs().All() {
		n += 1 + ofMap(rl.Resource().Attributes())
		for _, sl := range rl.ScopeLogs().All() {
			n += 1 + ofMap(sl.Scope().Attributes())
			for _, lr := range sl.LogRecords().All() {
				n += 1 + ofMap(lr.Attributes()) + inValue(lr.Body())
			}
		}
	}
	return n
}

func ofMap(m pcommon.Map) (n int) {
	for _, v := range m.All() {
		n += 1 + inValue(v)
	}
	return n
}

func inValue(v pcommon.Value) (n int) {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		return ofMap(v.Map())
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			n += 1 + inValue(e)
		}
	}
	return n
}
