package recounts

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otel-topk/collector/internal/depot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kept is a storage in memory, that outlasts a queue.
type kept struct {
	*depot.Depot
	commits atomic.Int64
}

func newKept() *kept { return &kept{Depot: depot.New(depot.Memory{})} }

func (k *kept) Commit(ctx context.Context) {
	k.commits.Add(1)
	_ = k.Depot.Commit(ctx)
}

func (k *kept) Read(ctx context.Context, keys []string) ([][]byte, error) {
	return k.GetAll(ctx, keys)
}

// gate is a counter that runs until it is told how to end.
type gate struct {
	running, most atomic.Int64
	ends          chan error
}

func newGate() *gate { return &gate{ends: make(chan error)} }

func (g *gate) count(ctx context.Context, o *Order, progress func(float64, int64)) (*Result, error) {
	n := g.running.Add(1)
	defer g.running.Add(-1)
	raise(&g.most, n)
	progress(0.5, 7)
	select {
	case err := <-g.ends:
		return &Result{Items: []Item{{Key: o.Reason, Weight: 3, Records: 2}}, Weight: 4, Records: 3, Files: 1}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// told is what the callbacks of a queue said.
type told struct{ began, done, failed, canceled atomic.Int64 }

func queueOf(s Storage, c Counter, t *told, edits ...func(*Options)) *Queue {
	o := Options{
		Count: c, Storage: s, Now: time.Now, Most: 2, Waiting: 3, Keep: 100, KeepBytes: 1 << 20,
		Began: func(Job) { t.began.Add(1) },
		Ended: func(j Job, _ Effort) {
			map[Status]*atomic.Int64{Done: &t.done, Failed: &t.failed, Canceled: &t.canceled}[j.Status].Add(1)
		},
	}
	for _, edit := range edits {
		edit(&o)
	}
	return New(o)
}

func get(t *testing.T, q *Queue, id string) (Job, *Result) {
	j, r, err := q.Get(t.Context(), id)
	require.NoError(t, err)
	return j, r
}

// L4: of a hundred, so many run, so many wait, and the others are refused; all that were taken are counted in the end.
func TestOfAHundredAtOnceABoundedNumberRunsAndOthersWaitOrAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, said := newGate(), &told{}
		q := queueOf(newKept(), g.count, said)
		var taken, refused atomic.Int64
		for range 100 {
			go func() {
				switch _, err := q.Submit(t.Context(), Order{}); {
				case err == nil:
					taken.Add(1)
				case errors.Is(err, ErrFull):
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		assert.EqualValues(t, 5, taken.Load())
		assert.EqualValues(t, 95, refused.Load())
		assert.Equal(t, State{Running: 2, Waiting: 3}, q.State())
		for range 5 {
			g.ends <- nil
			synctest.Wait()
		}
		assert.Equal(t, State{Ended: 5}, q.State())
		assert.EqualValues(t, 2, g.most.Load())
		assert.EqualValues(t, 5, said.done.Load())
		assert.EqualValues(t, 5, said.began.Load())
		for _, j := range q.Newest(100) {
			assert.Equal(t, Done, j.Status)
		}
		require.NoError(t, q.Close(t.Context()))
		_, err := q.Submit(t.Context(), Order{})
		assert.ErrorIs(t, err, ErrClosed)
	})
}

func TestAJobTellsHowFarItCameAndWhatCameOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(), newKept()
		q := queueOf(s, g.count, &told{}, func(o *Options) { o.Most, o.Waiting = 1, 1 })
		first, err := q.Submit(t.Context(), Order{Reason: "ticket", Keys: []string{"a", ""}})
		require.NoError(t, err)
		second, err := q.Submit(t.Context(), Order{Reason: "other"})
		require.NoError(t, err)
		synctest.Wait()
		time.Sleep(time.Minute)
		j, r := get(t, q, first.ID)
		assert.Nil(t, r)
		assert.Equal(t, Running, j.Status)
		assert.Equal(t, 0.5, j.Progress)
		j, _ = get(t, q, second.ID)
		assert.Equal(t, Queued, j.Status)
		assert.Zero(t, j.Started)
		g.ends <- nil
		synctest.Wait()
		g.ends <- errors.New("the bucket is gone")
		synctest.Wait()
		j, r = get(t, q, first.ID)
		assert.Equal(t, Done, j.Status)
		assert.Equal(t, 1.0, j.Progress)
		assert.Equal(t, []string{"a", ""}, j.Keys)
		assert.Equal(t, time.Minute, j.Ended.Sub(j.Started))
		assert.Equal(t, &Result{Items: []Item{{Key: "ticket", Weight: 3, Records: 2}}, Weight: 4, Records: 3, Files: 1}, withoutEmpty(r))
		j, r = get(t, q, second.ID)
		assert.Equal(t, Failed, j.Status)
		assert.Equal(t, "the bucket is gone", j.Error)
		assert.Nil(t, r)
		newest := q.Newest(1)
		require.Len(t, newest, 1)
		assert.Equal(t, second.ID, newest[0].ID)
		_, _, err = q.Get(t.Context(), "x")
		assert.ErrorIs(t, err, ErrUnknown)
		assert.EqualValues(t, 6, s.commits.Load(), "asked for, attempted, ended: each of two")
	})
}

// withoutEmpty makes empty lists none, for comparison.
func withoutEmpty(r *Result) *Result {
	if len(r.Missing) == 0 {
		r.Missing = nil
	}
	return r
}

func TestCanceling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, said := newGate(), &told{}
		q := queueOf(newKept(), g.count, said, func(o *Options) { o.Most = 1 })
		var ids []string
		for range 3 {
			j, err := q.Submit(t.Context(), Order{})
			require.NoError(t, err)
			ids = append(ids, j.ID)
		}
		synctest.Wait()
		for _, id := range []string{ids[1], ids[0], ids[0]} {
			j, err := q.Cancel(t.Context(), id)
			require.NoError(t, err, "a second time is as good as once")
			assert.Equal(t, Canceled, j.Status)
		}
		synctest.Wait()
		assert.Equal(t, State{Running: 1, Ended: 2}, q.State(), "the place of the first is free")
		g.ends <- nil
		synctest.Wait()
		j, err := q.Cancel(t.Context(), ids[2])
		assert.ErrorIs(t, err, ErrEnded)
		assert.Equal(t, Done, j.Status)
		_, err = q.Cancel(t.Context(), "x")
		assert.ErrorIs(t, err, ErrUnknown)
		assert.EqualValues(t, 2, said.canceled.Load())
		assert.EqualValues(t, 1, said.done.Load())
		j, r := get(t, q, ids[0])
		assert.Equal(t, Canceled, j.Status)
		assert.Nil(t, r)
	})
}

// restored is a queue that begins with what s holds.
func restored(t *testing.T, s *kept, c Counter, said *told) *Queue {
	require.NoError(t, s.Depot.Commit(t.Context()))
	q := queueOf(s, c, said, func(o *Options) { o.Most = 1 })
	var jobs []*Job
	results := map[string]int{}
	require.NoError(t, s.Walk(t.Context(), func(v depot.Value) {
		if v.Key[:4] == JobPrefix {
			value, ok := v.Open()
			require.True(t, ok)
			j, err := DecodeJob(v.Key, value)
			require.NoError(t, err)
			jobs = append(jobs, j)
			return
		}
		results[v.Key] = v.Size
	}))
	q.Restore(t.Context(), jobs, results)
	return q
}

func TestJobsOutlastTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(), newKept()
		q := queueOf(s, g.count, &told{}, func(o *Options) { o.Most = 1 })
		var ids []string
		for i := range 4 {
			j, err := q.Submit(t.Context(), Order{Reason: fmt.Sprint(i), Keys: []string{"k"}})
			require.NoError(t, err)
			ids = append(ids, j.ID)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		g.ends <- nil
		synctest.Wait()
		_, err := q.Cancel(t.Context(), ids[3])
		require.NoError(t, err)
		before, result := get(t, q, ids[0])
		require.NoError(t, q.Close(t.Context()))

		q = restored(t, s, g.count, &told{})
		synctest.Wait()
		after, same := get(t, q, ids[0])
		assert.True(t, before.Created.Equal(after.Created))
		assert.Equal(t, result, same)
		j, _ := get(t, q, ids[1])
		assert.Equal(t, Running, j.Status)
		assert.Equal(t, 1, j.Attempts, "that it was shut down is not held against it")
		j, _ = get(t, q, ids[2])
		assert.Equal(t, Queued, j.Status)
		assert.Equal(t, []string{"k"}, j.Keys)
		j, _ = get(t, q, ids[3])
		assert.Equal(t, Canceled, j.Status)
		require.NoError(t, q.Close(t.Context()))
	})
}

func TestAJobThatIsCutOffIsTriedThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(), newKept()
		q := queueOf(s, g.count, &told{}, func(o *Options) { o.Most = 1 })
		j, err := q.Submit(t.Context(), Order{})
		require.NoError(t, err)
		queues := []*Queue{q}
		for attempt := 1; attempt <= 3; attempt++ {
			synctest.Wait()
			j, _ := get(t, q, j.ID)
			assert.Equal(t, Running, j.Status)
			assert.Equal(t, attempt, j.Attempts)
			said := &told{}
			q = restored(t, s, g.count, said) // as after kill -9: the queue before was not closed
			queues = append(queues, q)
			if attempt == 3 {
				assert.EqualValues(t, 1, said.failed.Load())
			}
		}
		j, _ = get(t, q, j.ID)
		assert.Equal(t, Failed, j.Status)
		assert.Equal(t, "it was cut off by the end of the process 3 times", j.Error)
		for _, q := range queues {
			require.NoError(t, q.Close(t.Context()))
		}
	})
}

func TestThoseThatEndedFirstAreGivenUpFirst(t *testing.T) {
	for name, bound := range map[string]func(*Options){
		"by number": func(o *Options) { o.Keep = 2 },
		"by bytes":  func(o *Options) { o.KeepBytes = 2500 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newKept()
				g := newGate()
				q := queueOf(s, g.count, &told{}, bound, func(o *Options) { o.Most, o.Waiting = 4, 4 })
				var ids []string
				for range 4 {
					j, err := q.Submit(t.Context(), Order{Reason: string(make([]byte, 1000))})
					require.NoError(t, err)
					ids = append(ids, j.ID)
				}
				for _, id := range []string{ids[3], ids[0], ids[2]} {
					time.Sleep(time.Second)
					_, err := q.Cancel(t.Context(), id)
					require.NoError(t, err)
				}
				synctest.Wait()
				assert.Equal(t, State{Running: 1, Ended: 2}, q.State())
				_, _, err := q.Get(t.Context(), ids[3])
				assert.ErrorIs(t, err, ErrUnknown)
				values, err := s.Read(t.Context(), []string{JobPrefix + ids[3], JobPrefix + ids[0]})
				require.NoError(t, err)
				assert.Nil(t, values[0])
				assert.NotNil(t, values[1])
				require.NoError(t, q.Close(t.Context()))
			})
		})
	}
}

func TestACountThatBreaksOffFailsItsJobOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(newKept(), func(context.Context, *Order, func(float64, int64)) (*Result, error) { panic("a hostile file") }, &told{})
		j, err := q.Submit(t.Context(), Order{})
		require.NoError(t, err)
		synctest.Wait()
		j, _ = get(t, q, j.ID)
		assert.Equal(t, Failed, j.Status)
		assert.Equal(t, "the count broke off: a hostile file", j.Error)
		assert.Equal(t, State{Ended: 1}, q.State())
	})
}

func TestCloseWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		q := queueOf(newKept(), func(context.Context, *Order, func(float64, int64)) (*Result, error) {
			<-end
			return &Result{}, nil
		}, &told{})
		_, err := q.Submit(t.Context(), Order{})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, q.Close(ctx), context.DeadlineExceeded)
		close(end)
		require.NoError(t, q.Close(t.Context()))
	})
}
