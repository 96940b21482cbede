package segment_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment/segmenttest"
	"github.com/otel-topk/collector/internal/rule"
)

// TestAPowerCutAtAnyStepLosesNothingThatWasAnswered counts the steps of a run, and cuts it short at each of them. What was not
// synced is lost, kept or zeroed at random.
func TestAPowerCutAtAnyStepLosesNothingThatWasAnswered(t *testing.T) {
	steps := powerCut(t, 0, 1<<30)
	for at := 1; at <= steps; at++ {
		for seed := range uint64(2) {
			powerCut(t, seed, at)
		}
	}
	assert.Greater(t, steps, 40)
}

// powerCut after so many steps. It says how many were done.
func powerCut(t *testing.T, seed uint64, after int) int {
	c, r := newCodec(t), rand.New(rand.NewPCG(seed, uint64(after)))
	steps := 0
	disk := &segmenttest.Disk{Random: r, Before: func(segmenttest.Step) error {
		if steps >= after {
			return segmenttest.ErrCrash
		}
		steps++
		return nil
	}}
	o := options(t.TempDir())
	o.Disk, o.MaxSize = disk, 4096
	f := openFolder(t, o)
	answered, refused := map[int]bool{}, map[int]bool{}
	for i := range 40 {
		if err := f.Append(rule.SignalLogs, noon, encode(c, request(body(r, i)))); err == nil {
			answered[i] = true
		} else {
			require.ErrorIs(t, err, segmenttest.ErrCrash)
			refused[i] = true
		}
	}
	disk.Crash()
	require.NoError(t, f.Close())
	got := numbers(t, reopen(t, o.Directory))
	for i := range answered {
		require.Equal(t, 1, got[i], "request %d was answered", i)
		delete(got, i)
	}
	for i, n := range got {
		require.True(t, refused[i], "request %d", i)
		require.Equal(t, 1, n, "a request that has no answer may be there, once")
	}
	return steps
}

// TestConcurrentRequestsAreThereIfAndOnlyIfTheyWereTaken runs requests side by side on a disk on which any step may fail.
func TestConcurrentRequestsAreThereIfAndOnlyIfTheyWereTaken(t *testing.T) {
	const clients, each = 8, 60
	for seed := range uint64(20) {
		c, r := newCodec(t), rand.New(rand.NewPCG(seed, 0))
		failing := errors.New("input/output error")
		disk := &segmenttest.Disk{Random: r, Before: func(s segmenttest.Step) error {
			// A disk that takes back nothing is the one that is not promised anything.
			if s != "truncate" && s != "remove" && r.IntN(20) == 0 {
				return failing
			}
			return nil
		}}
		o := options(t.TempDir())
		o.Disk, o.MaxSize = disk, 4096
		f := openFolder(t, o)
		var mu sync.Mutex
		want := map[int]int{}
		var running sync.WaitGroup
		for client := range clients {
			r := rand.New(rand.NewPCG(seed, uint64(client)))
			running.Go(func() {
				for i := range each {
					n := client*each + i
					now := noon.Add(time.Duration(i) * time.Minute)
					if err := f.Append(rule.SignalTraces, now, encode(c, request(body(r, n)))); err == nil {
						mu.Lock()
						want[n] = 1
						mu.Unlock()
					}
					if i%10 == 0 {
						f.Seal(now)
					}
				}
			})
		}
		running.Wait()
		f.End()
		var bytes int64
		for _, s := range f.Sealed() {
			bytes += s.Size()
		}
		require.Equal(t, bytes, f.Pending().Bytes)
		require.Equal(t, want, numbers(t, f.Sealed()), "in this process")
		require.NoError(t, f.Close())
		require.Equal(t, want, numbers(t, reopen(t, o.Directory)), "in the next one")
		require.Greater(t, len(want), clients*each/2)
		require.Less(t, len(want), clients*each)
	}
}

func TestARequestThatWasRefusedIsNotFoundAfterACrash(t *testing.T) {
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	failing := errors.New("input/output error")
	disk := &segmenttest.Disk{Late: true}
	o := options(t.TempDir())
	o.Disk = disk
	f := openFolder(t, o)
	require.NoError(t, f.Append(rule.SignalLogs, noon, encode(c, request(body(r, 0)))))
	disk.Before = func(s segmenttest.Step) error {
		if s == "write" {
			return failing
		}
		return nil
	}
	require.ErrorIs(t, f.Append(rule.SignalLogs, noon, encode(c, request(body(r, 1)))), failing)
	require.NoError(t, f.Close())
	assert.Equal(t, map[int]int{0: 1}, numbers(t, reopen(t, o.Directory)))
}

func TestASegmentThatASyncFailedOnTakesNoMore(t *testing.T) {
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	var failing error
	disk := &segmenttest.Disk{Random: r, Before: func(s segmenttest.Step) error {
		if s == "sync" {
			return failing
		}
		return nil
	}}
	o := options(t.TempDir())
	o.Disk = disk
	f := openFolder(t, o)
	defer f.Close()
	add := func(i int) error { return f.Append(rule.SignalLogs, noon, encode(c, request(body(r, i)))) }
	require.NoError(t, add(0))
	failing = errors.New("input/output error")
	require.ErrorIs(t, add(1), failing)
	failing = nil
	require.NoError(t, add(2))
	assert.Len(t, segments(t, o.Directory), 2)
	f.End()
	assert.Equal(t, map[int]int{0: 1, 2: 1}, numbers(t, f.Sealed()))
}

func TestWithoutFsyncNothingIsSynced(t *testing.T) {
	c, r := newCodec(t), rand.New(rand.NewPCG(1, 2))
	disk := &segmenttest.Disk{Random: r}
	o := options(t.TempDir())
	o.Disk, o.Fsync = disk, false
	f := openFolder(t, o)
	want := map[int]int{}
	for i := range 10 {
		require.NoError(t, f.Append(rule.SignalLogs, noon, encode(c, request(body(r, i)))))
		want[i] = 1
	}
	assert.Zero(t, disk.Syncs())
	require.NoError(t, f.Close())
	assert.Equal(t, want, numbers(t, reopen(t, o.Directory)), "it survives the end of the process all the same")
}

var _ segment.Disk = (*segmenttest.Disk)(nil)
