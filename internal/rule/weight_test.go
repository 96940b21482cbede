package rule

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"pgregory.net/rapid"
)

// K9: what is no weight is skipped visibly, never wrapped.
func TestWeights(t *testing.T) {
	for _, row := range []struct {
		situation string
		raw       any // nil: no attribute
		scale     float64
		want      uint64
		bad       bool
	}{
		{"integer", 3, 1, 3, false},
		{"zero", 0, 1, 0, false},
		{"double", 2.4, 1, 2, false},
		{"half is rounded up", 2.5, 1, 3, false},
		{"just below half", 0.49999999999999994, 1, 0, false},
		{"negative zero", math.Copysign(0, -1), 1, 0, false},
		{"scaled integer", 1500, 0.001, 2, false},
		{"scaled double", 0.25, 1000, 250, false},
		{"the largest", MaxWeight, 1, MaxWeight, false},
		{"an odd integer that only just fits", MaxWeight - 1, 1, MaxWeight - 1, false},
		{"the largest after scaling", math.MaxInt64, 1.0 / 2048, 1 << 52, false},
		{"one too large", MaxWeight + 1, 1, 0, true},
		{"the largest integer", math.MaxInt64, 1, 0, true},
		{"too large by its scale", 1 << 50, 16, 0, true},
		{"a double beyond any integer", 1e300, 1, 0, true},
		{"negative integer", -1, 1, 0, true},
		{"the smallest integer", int64(math.MinInt64), 1, 0, true},
		{"negative and tiny", -0.1, 1, 0, true},
		{"not a number", math.NaN(), 1, 0, true},
		{"infinite", math.Inf(1), 1, 0, true},
		{"negative infinite", math.Inf(-1), 1, 0, true},
		{"text", "many", 1, 0, true},
		{"text that looks like a number", "3", 1, 0, true},
		{"bool", true, 1, 0, true},
		{"bytes", []byte{3}, 1, 0, true},
		{"list", []any{3}, 1, 0, true},
		{"missing", nil, 1, 0, true},
	} {
		t.Run(row.situation, func(t *testing.T) {
			r := compiled(t, func(c *Config) {
				c.Key, c.Weight, c.WeightScale = []string{"log.body"}, `log.attributes["w"]`, row.scale
			})
			b := countLogs(r, logsOf(1, func(_ int, lr plog.LogRecord) {
				lr.Body().SetStr("k")
				if row.raw != nil {
					fromRaw(t, row.raw).CopyTo(lr.Attributes().PutEmpty("w"))
				}
			}))
			if row.bad {
				require.Empty(t, b.Keys)
				require.Equal(t, Skipped{BadWeight: 1}, b.Skipped)
				return
			}
			require.Equal(t, []uint64{row.want}, b.Weights)
			require.Zero(t, b.Skipped)
		})
	}
}

// The weight is the product rounded half up, as exact arithmetic gives it for doubles whose product is one.
func TestScaledRoundsHalfUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, scale := anyDouble().Draw(t, "weight"), math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "scale"))
		got, ok := scaled(w, scale)
		if !(w >= 0) || math.IsInf(w, 0) {
			require.False(t, ok)
			return
		}
		product := new(big.Float).SetPrec(2000).Mul(big.NewFloat(w), big.NewFloat(scale))
		want, _ := product.Add(product, big.NewFloat(0.5)).Int(nil)
		require.Equal(t, want.Cmp(big.NewInt(MaxWeight)) <= 0, ok)
		if ok {
			require.Equal(t, want.Uint64(), got)
		}
	})
}

func TestWeightOne(t *testing.T) {
	ld := logsOf(2, func(_ int, lr plog.LogRecord) { lr.Body().SetStr("k") })
	one := countLogs(compiled(t, func(c *Config) { c.Key = []string{"log.body"} }), ld)
	require.Len(t, one.Keys, 2)
	require.Nil(t, one.Weights)

	scaledOne := countLogs(compiled(t, func(c *Config) { c.Key, c.WeightScale = []string{"log.body"}, 9.5 }), ld)
	require.Equal(t, []uint64{10, 10}, scaledOne.Weights)
}

func TestWeightBytesIsTheSizeOfTheRecordAlone(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key, c.Weight = []string{"log.body"}, WeightBytes })
	ld := logsOf(1, func(_ int, lr plog.LogRecord) { lr.Body().SetStr("twelve bytes") })
	small := countLogs(r, ld).Weights
	require.Equal(t, []uint64{20}, small) // the text, twice a tag and a length, and two ids without bytes

	ld.ResourceLogs().At(0).Resource().Attributes().PutStr("host", "not counted")
	require.Equal(t, small, countLogs(r, ld).Weights)
	ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).SetTimestamp(pcommon.Timestamp(1))
	require.Equal(t, []uint64{small[0] + 9}, countLogs(r, ld).Weights)
}

func TestWeightFromExpression(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Key, c.Weight = []string{"log.body"}, `Int(log.attributes["w"]) * 2` })
	b := countLogs(r, logsOf(3, func(i int, lr plog.LogRecord) {
		lr.Body().SetStr("k")
		lr.Attributes().PutStr("w", []string{"21", "none", "4"}[i])
	}))
	require.Equal(t, []uint64{42, 8}, b.Weights)
	require.Equal(t, Skipped{Errors: 1}, b.Skipped)
}
