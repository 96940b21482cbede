package recounts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

func drawTime(t *rapid.T, label string) time.Time {
	return time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, label)).UTC()
}

func drawText(t *rapid.T) string { return rapid.String().Draw(t, "text") }

func TestWhatIsStoredOfAJobComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := Job{
			ID: "x", Status: Status(rapid.IntRange(0, 4).Draw(t, "status")), Created: drawTime(t, "created"), Error: drawText(t), Attempts: 2,
			Order: Order{
				Rule: drawText(t), Fingerprint: drawText(t), From: drawTime(t, "from"), To: drawTime(t, "to"),
				Group: rule.Group{Scope: rule.Scope(rapid.IntRange(0, 3).Draw(t, "scope")), Name: drawText(t)},
				Parts: 3, Keys: rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "keys"), K: 7, Reason: drawText(t), By: drawText(t),
			},
		}
		if j.Created.UnixNano() == 0 {
			j.Created = time.Time{}
		}
		if j.Status == Done {
			j.Progress = 1
		}
		value := appendJob(nil, &j)
		got, err := DecodeJob(JobPrefix+"x", value)
		require.NoError(t, err)
		require.Equal(t, &j, got)
		cut := rapid.IntRange(0, len(value)-1).Draw(t, "cut")
		_, err = DecodeJob(JobPrefix+"x", value[:cut])
		require.Error(t, err)
	})
}

func TestWhatIsStoredOfAResultComesBack(t *testing.T) {
	r := &Result{
		Items:  []Item{{"a", 1 << 63, 2}, {"", 0, 0}},
		Weight: 1, Records: 2, Distinct: 3, Files: 4, Missing: []archive.Hour{5, -6}, LeftOut: []string{"f: damaged"}, NotRead: 7,
		Skipped: rule.Skipped{Unmatched: 8, MissingKey: 9, BadWeight: 10, Errors: 11, CutKeys: 12, Repaired: 13},
	}
	value := appendResult(nil, r)
	got, err := decodeResult(value)
	require.NoError(t, err)
	assert.Equal(t, r, got)
	for cut := range value {
		_, err := decodeResult(value[:cut])
		assert.Error(t, err, cut)
	}
	_, err = decodeResult(append(value, 0))
	assert.Error(t, err)
}

func TestValuesThatNobodyWroteAreRefused(t *testing.T) {
	value := appendJob(nil, &Job{})
	for name, broken := range map[string][]byte{
		"nothing": nil, "another version": append([]byte{2}, value[1:]...), "an unknown status": append([]byte{1, 5}, value[2:]...),
		"more":           append(value[:len(value):len(value)], 0),
		"a million keys": append(value[:len(value)-1:len(value)-1], 0xc0, 0x84, 0x3d),
	} {
		_, err := DecodeJob(JobPrefix, broken)
		assert.Error(t, err, name)
	}
	_, err := DecodeJob("list/", value)
	assert.Error(t, err)
	_, err = DecodeJob(JobPrefix, value)
	assert.NoError(t, err)
}
