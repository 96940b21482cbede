package segment_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment/segmenttest"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

func TestWhatIsAppendedIsRead(t *testing.T) {
	c := newCodec(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		o := options(dir)
		o.Fsync = false
		o.MaxSize = rapid.Int64Range(4096, 1<<20).Draw(rt, "size")
		f := openFolder(t, o)
		want := map[string][]segment.Request{}
		for range rapid.IntRange(0, 30).Draw(rt, "requests") {
			signal := rapid.SampledFrom([]string{rule.SignalLogs, rule.SignalTraces}).Draw(rt, "signal")
			r := segment.Request{Arrival: rapid.Int64().Draw(rt, "arrival"), Body: rapid.SliceOfN(rapid.Byte(), 1, 2000).Draw(rt, "body")}
			for range rapid.IntRange(1, 4).Draw(rt, "hours") {
				hour := archive.HourOf(rapid.Int64().Draw(rt, "time"))
				r.Hours = append(r.Hours, segment.Records{Hour: hour, Count: rapid.IntRange(1, 1000).Draw(rt, "count")})
			}
			require.NoError(rt, f.Append(signal, noon, encode(c, &r)))
			want[signal] = append(want[signal], r)
		}
		if rapid.Bool().Draw(rt, "end") {
			f.End()
		}
		pending := f.Pending()
		require.NoError(rt, f.Close())

		got := map[string][]segment.Request{}
		next := openFolder(t, o)
		bytes := int64(0)
		for _, s := range next.Sealed() {
			found := read(t, s)
			got[s.Signal] = append(got[s.Signal], found.requests...)
			bytes += fileSize(t, filepath.Join(dir, s.Name()))
			assert.Empty(rt, found.damaged)
			assert.Empty(rt, found.torn)
			assert.Equal(rt, o.Shard, found.shard)
			assert.Equal(rt, noon.UnixMilli(), s.Made.UnixMilli())
		}
		assert.Equal(rt, len(want), len(got))
		for signal := range want {
			assert.ElementsMatch(rt, want[signal], got[signal], "segments begun in one millisecond have no order")
		}
		assert.Equal(rt, bytes, next.Pending().Bytes)
		assert.InDelta(rt, bytes, pending.Bytes, float64(21*len(next.Sealed())), "but for the end frames")
		for _, s := range next.Sealed() {
			require.NoError(rt, next.Remove(s))
		}
		assert.Equal(rt, segment.Pending{}, next.Pending())
		require.NoError(rt, next.Close())
	})
}

func TestASegmentIsSealedAtItsSizeOrAge(t *testing.T) {
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	o := options(t.TempDir())
	o.MaxSize = 4096
	f := openFolder(t, o)
	defer f.Close()
	add := func(at time.Time) { require.NoError(t, f.Append(rule.SignalLogs, at, encode(c, request(body(r, 0))))) }
	for len(f.Sealed()) == 0 {
		add(noon)
	}
	assert.GreaterOrEqual(t, f.Sealed()[0].Size(), int64(4096))
	assert.Less(t, f.Sealed()[0].Size(), int64(4096+400))
	<-f.Ready()

	add(noon)
	f.Seal(noon.Add(time.Hour - 1))
	assert.Len(t, f.Sealed(), 1)
	assert.Equal(t, segment.Pending{Segments: 2, Bytes: f.Pending().Bytes, Oldest: noon}, f.Pending())
	f.Seal(noon.Add(time.Hour))
	assert.Len(t, f.Sealed(), 2)
	<-f.Ready()

	add(noon)
	add(noon.Add(2 * time.Hour))
	assert.Len(t, f.Sealed(), 3, "a request seals what is too old, if nobody else does")
	f.End()
	assert.Len(t, f.Sealed(), 3, "there is no empty segment")
	assert.ErrorIs(t, f.Append(rule.SignalLogs, noon, encode(c, request(body(r, 0)))), segment.ErrClosed)
}

func TestMoreThanMaxPendingIsRefused(t *testing.T) {
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	o := options(t.TempDir())
	o.MaxSize, o.MaxPending = 4096, 10_000
	f := openFolder(t, o)
	defer f.Close()
	taken := 0
	var err error
	for err == nil {
		if err = f.Append(rule.SignalLogs, noon, encode(c, request(body(r, taken)))); err == nil {
			taken++
		}
	}
	assert.ErrorIs(t, err, segment.ErrFull)
	assert.ErrorContains(t, err, "of 10000 bytes")
	assert.InDelta(t, 10_000, f.Pending().Bytes, 500)
	require.NoError(t, f.Remove(f.Sealed()[0]))
	require.NoError(t, f.Append(rule.SignalLogs, noon, encode(c, request(body(r, taken)))), "there is room again")
}

func TestAFolderHasOneUser(t *testing.T) {
	o := options(t.TempDir())
	f := openFolder(t, o)
	_, err := segment.OpenFolder(o)
	assert.ErrorContains(t, err, "is in use by another exporter")
	require.NoError(t, f.Close())
	require.NoError(t, openFolder(t, o).Close())
}

func TestFilesThatAreNoSegmentsAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.txt", "logs-12.segment", "logs-0123456789ABCDEF0123456789ABCDEF.segment"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600))
	}
	assert.Empty(t, reopen(t, dir))
}

func TestRequestsThatComeTogetherShareASync(t *testing.T) {
	const clients = 50
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	disk := &segmenttest.Disk{}
	o := options(t.TempDir())
	o.Disk = disk
	f := openFolder(t, o)
	defer f.Close()
	require.NoError(t, f.Append(rule.SignalLogs, noon, encode(c, request(body(r, 0)))))
	before := disk.Syncs()

	// The first sync is held up until all others have written.
	written, held := make(chan struct{}, clients), false
	release := make(chan struct{})
	disk.Before = func(s segmenttest.Step) error {
		switch {
		case s == "write":
			written <- struct{}{}
		case s == "sync" && !held:
			held = true
			disk.Hold(release)
		}
		return nil
	}
	errs := make(chan error, clients)
	for i := range clients {
		frame := encode(c, request(body(r, i)))
		go func() { errs <- f.Append(rule.SignalLogs, noon, frame) }()
	}
	for range clients {
		<-written
	}
	assert.Empty(t, errs, "none is answered before it is durable")
	close(release)
	for range clients {
		require.NoError(t, <-errs)
	}
	assert.Equal(t, 2, disk.Syncs()-before, "one that was under way when they were written covers none of them")
}

func TestARequestThatCannotBeWrittenIsRefusedAndTheOthersStay(t *testing.T) {
	for _, step := range []segmenttest.Step{"create", "write", "sync", "truncate", "sync names"} {
		t.Run(string(step), func(t *testing.T) {
			c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
			full := errors.New("no space left")
			broken := false
			disk := &segmenttest.Disk{Random: r, Before: func(s segmenttest.Step) error {
				if broken && (s == step || step == "truncate" && s == "write") {
					return full
				}
				return nil
			}}
			o := options(t.TempDir())
			o.Disk, o.MaxSize = disk, 4096
			f := openFolder(t, o)
			want := map[int]int{}
			refused := 0
			for i := range 200 {
				broken = i%20 >= 15
				err := f.Append(rule.SignalLogs, noon, encode(c, request(body(r, i))))
				if err == nil {
					want[i] = 1
					continue
				}
				refused++
				require.ErrorIs(t, err, full)
			}
			assert.Positive(t, refused)
			broken = false
			f.End()
			assert.Equal(t, want, numbers(t, f.Sealed()))
			var bytes int64
			for _, s := range f.Sealed() {
				bytes += s.Size()
			}
			assert.Equal(t, bytes, f.Pending().Bytes, "what was refused takes no room")
			require.NoError(t, f.Close())
		})
	}
}
