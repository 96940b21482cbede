package rule

import (
	"context"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// expression compiles what is no plain path: T is OTTL's context, which transform takes from the cursor.
func expression[C, T any](parser *ottl.Parser[T], transform func(*C) T, text string) (func(*C, *value), error) {
	e, err := parser.ParseValueExpression(text)
	if err != nil {
		return nil, err
	}
	return func(c *C, v *value) {
		found, err := e.Eval(context.Background(), transform(c))
		if err != nil {
			v.kind = failed
			return
		}
		v.setAny(found)
	}, nil
}

func condition[C, T any](parser *ottl.Parser[T], transform func(*C) T, text string) (func(*C) (bool, error), error) {
	e, err := parser.ParseCondition(text)
	if err != nil {
		return nil, err
	}
	return func(c *C) (bool, error) { return e.Eval(context.Background(), transform(c)) }, nil
}

// setAny takes what OTTL functions and paths return. What has no text (a span's events, say) is failed.
func (v *value) setAny(found any) {
	switch f := found.(type) {
	case nil:
		v.kind = absent
	case string:
		v.setText(f)
	case int64:
		v.setInt(f)
	case float64:
		v.setDouble(f)
	case bool:
		v.setBool(f)
	case pcommon.Value:
		v.setValue(f)
	case pcommon.TraceID:
		v.setTraceID(f)
	case pcommon.SpanID:
		v.setSpanID(f)
	case time.Time:
		v.setText(f.UTC().Format(time.RFC3339Nano))
	case time.Duration:
		v.setInt(int64(f))
	default:
		tree := pcommon.NewValueEmpty()
		if !fill(tree, f) {
			v.kind = failed
			return
		}
		v.setValue(tree)
	}
}

// fill copies a list, a map or what can be in one.
func fill(dest pcommon.Value, found any) bool {
	switch f := found.(type) {
	case pcommon.Value:
		f.CopyTo(dest)
	case pcommon.Map:
		f.CopyTo(dest.SetEmptyMap())
	case pcommon.Slice:
		f.CopyTo(dest.SetEmptySlice())
	case []any:
		return fillList(dest, f)
	case []string:
		return fillList(dest, f)
	case []bool:
		return fillList(dest, f)
	case []int64:
		return fillList(dest, f)
	case []uint64:
		return fillList(dest, f)
	case []float64:
		return fillList(dest, f)
	default:
		return dest.FromRaw(f) == nil
	}
	return true
}

func fillList[E any](dest pcommon.Value, items []E) bool {
	list := dest.SetEmptySlice()
	for _, item := range items {
		if !fill(list.AppendEmpty(), item) {
			return false
		}
	}
	return true
}
