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
	case pcommon.Map:
		tree := pcommon.NewValueMap()
		f.CopyTo(tree.Map())
		v.setValue(tree)
	case pcommon.Slice:
		tree := pcommon.NewValueSlice()
		f.CopyTo(tree.Slice())
		v.setValue(tree)
	case []string:
		setList(v, f)
	case []int64:
		setList(v, f)
	case []uint64:
		setList(v, f)
	case []float64:
		setList(v, f)
	default:
		tree := pcommon.NewValueEmpty()
		if err := tree.FromRaw(f); err != nil {
			v.kind = failed
			return
		}
		v.setValue(tree)
	}
}

func setList[E any](v *value, items []E) {
	tree := pcommon.NewValueSlice()
	for _, item := range items {
		if err := tree.Slice().AppendEmpty().FromRaw(item); err != nil {
			v.kind = failed
			return
		}
	}
	v.setValue(tree)
}
