package segment_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
)

// TestDamageLosesOnlyTheFramesThatItTouches disturbs segments at random: every frame that is whole is found, and no other; what
// lies between two of them is told as damaged, and the end of one that was not ended as torn.
func TestDamageLosesOnlyTheFramesThatItTouches(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, ended := range []bool{true, false} {
		for range 200 {
			dir := t.TempDir()
			written(t, dir, 12, ended)
			path := segments(t, dir)[0]
			whole := read(t, reopen(t, dir)[0])
			require.Len(t, whole.requests, 12)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			size := int64(len(content))
			touched := make([]bool, size)
			for range 1 + r.IntN(3) {
				from := r.Int64N(size)
				for i := from; i < min(size, from+1+r.Int64N(200)); i++ {
					old := content[i]
					content[i] = []byte{0, 0xff, old ^ 1, byte(r.Uint32())}[r.IntN(4)]
					touched[i] = touched[i] || content[i] != old
				}
			}
			require.NoError(t, os.WriteFile(path, content, 0o600))

			var want []segment.Item
			for _, item := range whole.at {
				if !some(touched[item.Offset : item.Offset+item.Length]) {
					want = append(want, item)
				}
			}
			got := read(t, reopen(t, dir)[0])
			require.Equal(t, want, got.at)
			headerGone, sealed := some(touched[:whole.at[0].Offset]), ended && !some(touched[size-21:])
			if headerGone {
				assert.Equal(t, "a shard of its own", got.shard)
			} else {
				assert.Equal(t, "a shard/1", got.shard)
			}
			for i := range touched {
				told := within(got.damaged, int64(i)) || !sealed && within(got.torn, int64(i))
				if touched[i] && !told {
					require.Fail(t, "damage is not told", "the byte at %d, damaged %v, torn %v", i, got.damaged, got.torn)
				}
			}
			if len(want) == 12 && !headerGone && sealed == ended {
				require.Empty(t, got.damaged)
				require.Empty(t, got.torn)
			}
		}
	}
}

func some(touched []bool) bool {
	for _, b := range touched {
		if b {
			return true
		}
	}
	return false
}

func within(items []segment.Item, at int64) bool {
	for _, i := range items {
		if at >= i.Offset && at < i.Offset+i.Length {
			return true
		}
	}
	return false
}

func TestATornEndIsCut(t *testing.T) {
	dir := t.TempDir()
	written(t, dir, 5, false)
	path := segments(t, dir)[0]
	whole := read(t, reopen(t, dir)[0])
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for size := int64(len(content)); size >= 0; size -= 7 {
		require.NoError(t, os.WriteFile(path, content[:size], 0o600))
		got := read(t, reopen(t, dir)[0])
		var want []segment.Item
		end := whole.at[0].Offset
		if size < end {
			end = 0
		}
		for _, item := range whole.at {
			if item.Offset+item.Length <= size {
				want = append(want, item)
				end = item.Offset + item.Length
			}
		}
		require.Equal(t, want, got.at)
		require.Empty(t, got.damaged)
		if end == size {
			require.Empty(t, got.torn)
		} else {
			require.Equal(t, []segment.Item{{Kind: segment.Torn, Offset: end, Length: size - end}}, got.torn)
		}
	}
}

func TestAFrameOfAnotherSegmentOrPlaceIsNone(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	written(t, dir, 3, false)
	written(t, other, 3, false)
	mine, err := os.ReadFile(segments(t, dir)[0])
	require.NoError(t, err)
	theirs, err := os.ReadFile(segments(t, other)[0])
	require.NoError(t, err)
	first := read(t, reopen(t, dir)[0]).at[0]
	for name, content := range map[string][]byte{
		"of another segment": append(bytes.Clone(mine[:first.Offset]), theirs[first.Offset:]...),
		"twice":              append(bytes.Clone(mine), mine[first.Offset:]...),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(segments(t, dir)[0], content, 0o600))
			got := read(t, reopen(t, dir)[0])
			assert.Len(t, got.torn, 1)
			assert.Equal(t, len(content) > len(mine), len(got.requests) == 3)
			assert.Equal(t, len(content) == len(mine), len(got.requests) == 0)
		})
	}
}

func TestWhatIsDamagedIsSetAside(t *testing.T) {
	dir := t.TempDir()
	written(t, dir, 3, true)
	f := openFolder(t, options(dir))
	defer f.Close()
	s := f.Sealed()[0]
	r, err := segment.NewReader(s, newCodec(t), "")
	require.NoError(t, err)
	defer r.Close()
	item, err := r.Next()
	require.NoError(t, err)
	want, err := io.ReadAll(r.Bytes(item))
	require.NoError(t, err)
	require.NoError(t, f.SetAside(s, item, r.Bytes(item)))
	got, err := os.ReadFile(fmt.Sprintf("%s/damaged/logs-%s-%d", dir, s.ID, item.Offset))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// FuzzReader: whatever a segment holds, reading it ends, and tells all of it once, in order.
func FuzzReader(f *testing.F) {
	dir := f.TempDir()
	written(f, dir, 3, true)
	content, err := os.ReadFile(segments(f, dir)[0])
	require.NoError(f, err)
	name := segments(f, dir)[0]
	f.Add(content)
	f.Add(content[:len(content)-30])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		require.NoError(t, os.WriteFile(name, content, 0o600))
		all := reopen(t, dir)
		got := read(t, all[0])
		items := append(append(got.at, got.damaged...), got.torn...)
		told := int64(0)
		for _, i := range items {
			told += i.Length
		}
		assert.LessOrEqual(t, told, int64(len(content)))
	})
}
