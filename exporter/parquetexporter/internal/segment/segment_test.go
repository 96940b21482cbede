package segment_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests begin.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var newCodec = func() func(testing.TB) *segment.Codec {
	c, err := segment.NewCodec()
	return func(t testing.TB) *segment.Codec {
		require.NoError(t, err)
		return c
	}
}()

// options of a folder with room for everything.
func options(dir string) segment.Options {
	return segment.Options{Directory: dir, Shard: "a shard/1", Fsync: true, MaxSize: 1 << 20, MaxAge: time.Hour, MaxPending: 1 << 30}
}

func openFolder(t testing.TB, o segment.Options) *segment.Folder {
	f, err := segment.OpenFolder(o)
	require.NoError(t, err)
	return f
}

// reopen what dir holds, as the next process does.
func reopen(t testing.TB, dir string) []*segment.Segment {
	f := openFolder(t, options(dir))
	defer func() { require.NoError(t, f.Close()) }()
	return f.Sealed()
}

// body of a request: its number, and noise that zstd makes no smaller.
func body(r *rand.Rand, number int) []byte {
	b := make([]byte, 8+r.IntN(300))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	copy(b, []byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)})
	return b
}

func numberOf(body []byte) int {
	return int(body[0])<<24 | int(body[1])<<16 | int(body[2])<<8 | int(body[3])
}

func encode(c *segment.Codec, r *segment.Request) *segment.Frame {
	f := new(segment.Frame)
	c.Encode(r, f)
	return f
}

// request with a body, of two hours.
func request(body []byte) *segment.Request {
	h := archive.HourOf(noon.UnixNano())
	return &segment.Request{Arrival: noon.UnixNano(), Hours: []segment.Records{{Hour: h - 2, Count: 1}, {Hour: h, Count: 7}}, Body: body}
}

// found in a segment.
type found struct {
	requests []segment.Request
	at       []segment.Item // of each
	damaged  []segment.Item
	torn     []segment.Item
	shard    string
}

func read(t testing.TB, s *segment.Segment) (f found) {
	r, err := segment.NewReader(s, newCodec(t), "a shard of its own")
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for {
		item, err := r.Next()
		if errors.Is(err, io.EOF) {
			f.shard = r.Shard()
			return f
		}
		require.NoError(t, err)
		switch item.Kind {
		case segment.Whole:
			body, err := r.Body(item)
			require.NoError(t, err)
			item.Body = append([]byte(nil), body...)
			f.requests = append(f.requests, item.Request)
			f.at = append(f.at, segment.Item{Offset: item.Offset, Length: item.Length, Request: item.Request})
		case segment.Damaged:
			f.damaged = append(f.damaged, item)
		case segment.Torn:
			f.torn = append(f.torn, item)
		}
	}
}

// numbers of the requests in all segments, and how often each is there.
func numbers(t testing.TB, all []*segment.Segment) map[int]int {
	n := map[int]int{}
	for _, s := range all {
		for _, r := range read(t, s).requests {
			n[numberOf(r.Body)]++
		}
	}
	return n
}

func segments(t testing.TB, dir string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, "*.segment"))
	require.NoError(t, err)
	return paths
}

// written is a segment with so many requests, ended in order or not.
func written(t testing.TB, dir string, n int, ended bool) (bodies [][]byte) {
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	o := options(dir)
	o.Fsync = false
	f := openFolder(t, o)
	for i := range n {
		bodies = append(bodies, body(r, i))
		require.NoError(t, f.Append(rule.SignalLogs, noon, encode(c, request(bodies[i]))))
	}
	if ended {
		f.End()
	}
	require.NoError(t, f.Close())
	return bodies
}

func fileSize(t testing.TB, path string) int64 {
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}
