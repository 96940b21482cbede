package rule

import (
	"context"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/ottl"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// expression compiles what is no plain path: T is OTTL's context, which transform takes from the cursor.
func expression[C, T any](parser *ottl.Parser[T], transform func(*C) T, text string) (func(*C) value, error) {
	e, err := parser.ParseValueExpression(text)
	if err != nil {
		return nil, err
	}
	return func(c *C) value {
		v, err := e.Eval(context.Background(), transform(c))
		if err != nil {
			return value{kind: failed}
		}
		return valueOfAny(v)
	}, nil
}

func condition[C, T any](parser *ottl.Parser[T], transform func(*C) T, text string) (func(*C) (bool, error), error) {
	e, err := parser.ParseCondition(text)
	if err != nil {
		return nil, err
	}
	return func(c *C) (bool, error) { return e.Eval(context.Background(), transform(c)) }, nil
}

// valueOfAny takes what OTTL functions and paths return. What has no text (a span's events, say) is failed.
func valueOfAny(v any) value {
	switch v := v.(type) {
	case nil:
		return value{}
	case string:
		return textValue(v)
	case int64:
		return intValue(v)
	case float64:
		return doubleValue(v)
	case bool:
		return boolValue(v)
	case pcommon.Value:
		return valueOf(v)
	case pcommon.TraceID:
		return traceIDValue(v)
	case pcommon.SpanID:
		return spanIDValue(v)
	case time.Time:
		return textValue(v.UTC().Format(time.RFC3339Nano))
	case time.Duration:
		return intValue(int64(v))
	case pcommon.Map:
		tree := pcommon.NewValueMap()
		v.CopyTo(tree.Map())
		return valueOf(tree)
	case pcommon.Slice:
		tree := pcommon.NewValueSlice()
		v.CopyTo(tree.Slice())
		return valueOf(tree)
	case []string:
		return list(v)
	case []int64:
		return list(v)
	case []uint64:
		return list(v)
	case []float64:
		return list(v)
	default:
		tree := pcommon.NewValueEmpty()
		if err := tree.FromRaw(v); err != nil {
			return value{kind: failed}
		}
		return valueOf(tree)
	}
}

func list[E any](items []E) value {
	tree := pcommon.NewValueSlice()
	for _, item := range items {
		if err := tree.Slice().AppendEmpty().FromRaw(item); err != nil {
			return value{kind: failed}
		}
	}
	return valueOf(tree)
}
