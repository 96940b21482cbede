package archive

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/otel-topk/collector/internal/rule"
)

// The letters that say of what type a value was. typeText needs none where a type column is null.
const (
	typeText   = 's'
	typeInt    = 'i'
	typeDouble = 'd'
	typeBool   = 'b'
	typeBytes  = 'x' // the text is base64
	typeEmpty  = 'e' // no value, and no text
	typeTree   = 'p' // a list or map: its protobuf follows
)

// canonicalNaN is what ParseFloat makes of NaN.
var canonicalNaN = math.Float64bits(math.NaN())

// appendTyped appends the text of v to text and its letter to letters; trees gets the protobuf of a list or map, after its length.
// It says whether the value comes back from that.
func appendTyped(text, letters, trees []byte, v pcommon.Value) (_, _, _ []byte, exact bool) {
	exact = true
	switch v.Type() {
	case pcommon.ValueTypeStr:
		s := v.Str()
		if exact = utf8.ValidString(s); !exact {
			s = rule.Repaired(s)
		}
		return append(text, s...), append(letters, typeText), trees, exact
	case pcommon.ValueTypeEmpty:
		return text, append(letters, typeEmpty), trees, true
	case pcommon.ValueTypeInt:
		letters = append(letters, typeInt)
	case pcommon.ValueTypeDouble:
		letters = append(letters, typeDouble)
		f := v.Double()
		exact = (f != 0 || !math.Signbit(f)) && (!math.IsNaN(f) || math.Float64bits(f) == canonicalNaN)
	case pcommon.ValueTypeBool:
		letters = append(letters, typeBool)
	case pcommon.ValueTypeBytes:
		letters = append(letters, typeBytes)
	default:
		text = append(text, rule.Repaired(string(rule.AppendText(nil, v)))...)
		if !Shallow(v, maxDepth) {
			return text, append(letters, typeText), trees, false
		}
		tree := appendValue(nil, v)
		return text, append(letters, typeTree), append(protowire.AppendVarint(trees, uint64(len(tree))), tree...), true
	}
	return rule.AppendText(text, v), letters, trees, exact
}

// maxDepth of lists and maps in one another, whose protobuf pdata can read wherever it stands. Deeper ones are kept with the whole
// record, if that can be read.
const maxDepth = 24

// Shallow says whether v has no more than depth levels of lists and maps.
func Shallow(v pcommon.Value, depth int) bool {
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		for _, item := range v.Slice().All() {
			if depth == 0 || !Shallow(item, depth-1) {
				return false
			}
		}
	case pcommon.ValueTypeMap:
		for _, item := range v.Map().All() {
			if depth == 0 || !Shallow(item, depth-1) {
				return false
			}
		}
	}
	return true
}

// setTyped is the inverse of appendTyped of one value. It returns the trees that follow.
func setTyped(v pcommon.Value, text string, letter byte, trees []byte) ([]byte, error) {
	switch letter {
	case typeText:
		v.SetStr(text)
	case typeInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return trees, errType(letter)
		}
		v.SetInt(n)
	case typeDouble:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return trees, errType(letter)
		}
		v.SetDouble(f)
	case typeBool:
		v.SetBool(text == "true")
	case typeBytes:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return trees, errType(letter)
		}
		v.SetEmptyBytes().FromRaw(raw)
	case typeEmpty:
		clearValue(v)
	case typeTree:
		tree, n := protowire.ConsumeBytes(trees)
		if n < 0 {
			return trees, errType(letter)
		}
		return trees[n:], readValue(v, tree)
	default:
		return trees, errType(letter)
	}
	return trees, nil
}

func errType(letter byte) error { return fmt.Errorf("a value is none of type %q", letter) }

// clearValue leaves v without a value.
func clearValue(v pcommon.Value) {
	if v.Type() != pcommon.ValueTypeEmpty {
		pcommon.NewValueEmpty().CopyTo(v)
	}
}

// Field numbers of OTLP.
const (
	anyString, anyBool, anyInt, anyDouble, anyArray, anyMap, anyBytes = 1, 2, 3, 4, 5, 6, 7

	listValues                = 1
	pairKey, pairValue        = 1, 2
	dataResources             = 1
	resourceScopes            = 2
	scopeRecords, recordsBody = 2, 5
)

// appendValue appends v as an OTLP AnyValue.
func appendValue(dst []byte, v pcommon.Value) []byte {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return protowire.AppendString(protowire.AppendTag(dst, anyString, protowire.BytesType), v.Str())
	case pcommon.ValueTypeBool:
		return protowire.AppendVarint(protowire.AppendTag(dst, anyBool, protowire.VarintType), protowire.EncodeBool(v.Bool()))
	case pcommon.ValueTypeInt:
		return protowire.AppendVarint(protowire.AppendTag(dst, anyInt, protowire.VarintType), uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		return protowire.AppendFixed64(protowire.AppendTag(dst, anyDouble, protowire.Fixed64Type), math.Float64bits(v.Double()))
	case pcommon.ValueTypeBytes:
		return protowire.AppendBytes(protowire.AppendTag(dst, anyBytes, protowire.BytesType), v.Bytes().AsRaw())
	case pcommon.ValueTypeSlice:
		var list []byte
		for _, item := range v.Slice().All() {
			list = appendMessage(list, listValues, appendValue(nil, item))
		}
		return appendMessage(dst, anyArray, list)
	case pcommon.ValueTypeMap:
		var list []byte
		for key, item := range v.Map().All() {
			pair := protowire.AppendString(protowire.AppendTag(nil, pairKey, protowire.BytesType), key)
			list = appendMessage(list, listValues, appendMessage(pair, pairValue, appendValue(nil, item)))
		}
		return appendMessage(dst, anyMap, list)
	default:
		return dst
	}
}

func appendMessage(dst []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), message)
}

var (
	logReader  plog.ProtoUnmarshaler
	spanReader ptrace.ProtoUnmarshaler
)

// readValue is the inverse of appendValue: pdata reads values as part of records only.
func readValue(v pcommon.Value, tree []byte) error {
	wrapped := tree
	for _, field := range []protowire.Number{recordsBody, scopeRecords, resourceScopes, dataResources} {
		wrapped = appendMessage(nil, field, wrapped)
	}
	ld, err := logReader.UnmarshalLogs(wrapped)
	if err != nil {
		return fmt.Errorf("a value of type %q: %w", typeTree, err)
	}
	ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().MoveTo(v)
	return nil
}
