package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNameAndParse(t *testing.T) {
	for name, d := range map[string]time.Duration{
		"1m": time.Minute, "5m": 5 * time.Minute, "59m": 59 * time.Minute, "1h": time.Hour, "90m": 90 * time.Minute, "24h": 24 * time.Hour,
	} {
		assert.Equal(t, name, Name(d))
	}
	d, err := Parse("60m")
	require.NoError(t, err)
	assert.Equal(t, time.Hour, d)
	for _, name := range []string{"", "5", "90s", "0m", "-5m", "1d", "m", "five", "9223372036854775807h", "NaNm"} {
		_, err := Parse(name)
		assert.ErrorContains(t, err, "a multiple of 1m is allowed", name)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, 1<<20).Draw(t, "minutes")) * Bucket
		got, err := Parse(Name(d))
		require.NoError(t, err)
		assert.Equal(t, d, got)
	})
}
