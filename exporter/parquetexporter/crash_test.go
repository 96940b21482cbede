package parquetexporter

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment/segmenttest"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// world is a machine with a disk and a way to a bucket that crash together, or fail, at random.
type world struct {
	mu      sync.Mutex
	random  *rand.Rand
	crashIn int // steps
	crashed bool
	failing bool // one step in five
}

var errBucket = errors.New("the bucket is gone")

func (w *world) step() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.crashIn--; w.crashIn <= 0 {
		w.crashed = true
	}
	switch {
	case w.crashed:
		return segmenttest.ErrCrash
	case w.failing && w.random.IntN(5) == 0:
		return errBucket
	default:
		return nil
	}
}

// TestAnsweredIsArchivedOnceWhateverCrashes lives through process after process, each of which ends in the middle of some step
// on the disk or the bucket, with what was not synced lost. In the end every record that was answered is in the archive
// once, and one that was not at most once.
func TestAnsweredIsArchivedOnceWhateverCrashes(t *testing.T) {
	for seed := range uint64(12) {
		p, files, archived := newPlace(t), plain, place.plain
		if seed == 0 {
			files, archived = func(*archiver) {}, func(p place, t testing.TB) map[archive.Hour]map[int]int { return p.archived(t, rule.SignalLogs) }
		}
		random := rand.New(rand.NewPCG(seed, 1))
		answered, sent := map[int]int{}, 0
		for life := range 6 {
			w := &world{random: rand.New(rand.NewPCG(seed, uint64(life))), crashIn: 1 + random.IntN(80), failing: random.IntN(2) == 0}
			disk := &segmenttest.Disk{Random: rand.New(rand.NewPCG(seed, uint64(life)+100)), Before: func(s segmenttest.Step) error {
				if err := w.step(); errors.Is(err, segmenttest.ErrCrash) || s != "truncate" && s != "remove" {
					return err
				}
				return nil
			}}
			m := run(t, p.config(t, map[string]any{"segment": map[string]any{"max_size": 4096, "max_age": "20ms"}}),
				func(a *archiver) { a.disk = disk }, faulty(func(string) error { return w.step() }), files)
			for range 40 {
				from := sent
				sent += 1 + random.IntN(30)
				numbers := upTo(sent)[from:]
				at := func(i int) time.Time { return noon.Add(-time.Duration(i%3) * time.Hour) }
				if m.consumeLogs(context.Background(), logsAt(at, numbers...)) == nil {
					for _, n := range numbers {
						answered[n] = 1
					}
				}
			}
			w.mu.Lock()
			w.crashed = true
			w.mu.Unlock()
			disk.Crash()
			m.end(t)
		}
		run(t, p.config(t, nil), files).end(t)

		got := map[int]int{}
		for _, numbers := range archived(p, t) {
			for n, times := range numbers {
				got[n] += times
			}
		}
		for n := range sent {
			if answered[n] == 1 {
				require.Equal(t, 1, got[n], "record %d was answered, seed %d", n, seed)
			} else {
				require.LessOrEqual(t, got[n], 1, "record %d, seed %d", n, seed)
			}
		}
		assert.Greater(t, len(answered), 20, "seed %d", seed)
		assert.Empty(t, leftover(t, p))
	}
}

// TestACrashWhileConvertingWritesTheSameFilesAgain stops after each file of a segment: the next process writes them under the
// same names, with the same bytes.
func TestACrashWhileConvertingWritesTheSameFilesAgain(t *testing.T) {
	p := newPlace(t)
	spread := func(i int) time.Time { return noon.Add(-time.Duration(i%6) * time.Hour) }
	m := run(t, p.config(t, nil), faulty(func(string) error { return errBucket }))
	for i := range 20 {
		require.NoError(t, m.consumeLogs(context.Background(), logsAt(spread, upTo(30 * (i + 1))[30*i:]...)))
	}
	m.end(t)
	assert.Len(t, leftover(t, p), 1)
	assert.Empty(t, p.files(t, rule.SignalLogs))

	before := map[string][]byte{}
	for complete := range 7 {
		done := 0
		var mu sync.Mutex
		run(t, p.config(t, map[string]any{"shard": "renamed"}), faulty(func(step string) error {
			mu.Lock()
			defer mu.Unlock()
			if step == "put" {
				if done++; done > complete {
					return errBucket
				}
			}
			return nil
		})).end(t)
		for path, content := range p.contents(t, rule.SignalLogs) {
			if old, ok := before[path]; ok {
				require.Equal(t, old, content, path)
			}
			before[path] = content
		}
	}
	assert.Len(t, before, 6)
	assert.Empty(t, leftover(t, p))
	for i := range 6 {
		assert.Len(t, p.archived(t, rule.SignalLogs)[hour-archive.Hour(i)], 100)
	}
}
