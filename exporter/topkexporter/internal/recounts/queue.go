package recounts

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otel-topk/collector/internal/depot"
)

// Counter counts what o asks for. It calls progress, from any goroutine, with the part that is done and the records read so far.
type Counter func(ctx context.Context, o *Order, progress func(done float64, records int64)) (*Result, error)

// Storage of jobs, which may end with the process.
type Storage interface {
	// Apply shows writes to Read.
	Apply(c *depot.Change)
	// Commit returns when what was applied is durable, or is clear not to be soon.
	Commit(ctx context.Context)
	// Read the values under keys, nil where there is none.
	Read(ctx context.Context, keys []string) ([][]byte, error)
}

// Options of a queue.
type Options struct {
	Count     Counter
	Storage   Storage
	Now       func() time.Time
	Most      int               // jobs that run at once
	Waiting   int               // jobs that wait beside them
	Keep      int               // jobs that have ended
	KeepBytes int64             // that those take in storage
	Began     func(Job)         // each attempt
	Ended     func(Job, Effort) // for good
}

// Effort is what a job took.
type Effort struct {
	Records int64         // read
	LeftOut int           // damaged or foreign files
	Running time.Duration // of the last attempt; 0: there was none
	Cause   string        // why it failed, in words of which none is a record's; "": it did not
}

var (
	// ErrFull is of an order beyond those that may wait.
	ErrFull = errors.New("as many recounts wait as may")
	// ErrClosed is of an order that comes after Close.
	ErrClosed = errors.New("the collector is shutting down")
	// ErrUnknown is of an id that no job has, or no job that is kept.
	ErrUnknown = errors.New("no such job")
	// ErrEnded is of a job that is to be canceled and has ended otherwise.
	ErrEnded = errors.New("the job has ended")
)

// Queue runs jobs. Safe for concurrent use.
type Queue struct {
	Options
	workers sync.WaitGroup

	mu      sync.Mutex
	jobs    map[string]*entry
	order   []*entry // the oldest first
	waiting []*entry
	running int
	ended   int
	bytes   int64 // of those that have ended
	closed  bool
}

// entry is a job in memory: its keys only until it ends, its result never.
type entry struct {
	Job
	cancel  context.CancelFunc // while it runs
	done    atomic.Int64       // in millionths
	records atomic.Int64       // read
	bytes   int64              // in storage
}

// New makes a queue without jobs.
func New(o Options) *Queue { return &Queue{Options: o, jobs: map[string]*entry{}} }

// Submit an order. The job is in storage when Submit returns.
func (q *Queue) Submit(ctx context.Context, o Order) (Job, error) {
	e := &entry{Job: Job{ID: newID(), Order: o, Created: q.Now()}}
	e.Reason, e.By = bounded(o.Reason, MaxReasonBytes), bounded(o.By, maxByBytes)
	q.mu.Lock()
	switch {
	case q.closed:
		q.mu.Unlock()
		return Job{}, ErrClosed
	case q.running >= q.Most && len(q.waiting) >= q.Waiting:
		q.mu.Unlock()
		return Job{}, ErrFull
	}
	q.add(e)
	q.waiting = append(q.waiting, e)
	q.stage(e, nil)
	q.next()
	job := e.now()
	q.mu.Unlock()
	q.Storage.Commit(ctx)
	return job, nil
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}

// add e to what is known.
func (q *Queue) add(e *entry) {
	q.jobs[e.ID] = e
	q.order = append(q.order, e)
}

// next starts jobs while more may run.
func (q *Queue) next() {
	for q.running < q.Most && len(q.waiting) > 0 && !q.closed {
		e := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		ctx, cancel := context.WithCancel(context.Background())
		e.Status, e.Started, e.cancel = Running, q.Now(), cancel
		e.Attempts++
		e.done.Store(0)
		e.records.Store(0)
		q.running++
		q.stage(e, nil)
		q.workers.Go(func() { q.run(ctx, e) })
	}
}

// run one attempt of e.
func (q *Queue) run(ctx context.Context, e *entry) {
	q.Storage.Commit(ctx) // that it was attempted
	q.mu.Lock()
	job := e.now()
	q.mu.Unlock()
	q.Began(job)
	result, err := q.count(ctx, &job.Order, e)
	q.mu.Lock()
	e.cancel()
	q.running--
	switch {
	case e.Status != Running: // canceled meanwhile
	case err != nil && q.closed:
		e.Status, e.Started = Queued, time.Time{}
		e.Attempts-- // the end of the process is no fault of the job
		q.stage(e, nil)
	default:
		q.finish(e, result, err)
	}
	job = e.now()
	q.next()
	q.mu.Unlock()
	effort := Effort{Records: e.records.Load(), Running: q.Now().Sub(job.Started)}
	if job.Status == Failed {
		effort.Cause = causeOf(err)
	}
	if result != nil {
		effort.LeftOut = result.NotRead
	}
	q.Storage.Commit(context.WithoutCancel(ctx))
	if job.Status.Ended() {
		q.Ended(job, effort)
	}
}

// count, and turn a panic, which a hostile file may cause, into an error of the job.
func (q *Queue) count(ctx context.Context, o *Order, e *entry) (result *Result, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			result, err = nil, fmt.Errorf("the count broke off: %v", fault)
		}
	}()
	return q.Count(ctx, o, func(done float64, records int64) {
		raise(&e.done, int64(done*millionths))
		raise(&e.records, records)
	})
}

const millionths = 1_000_000

// raise v to n, never down.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); n > old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// finish a job that was counted, or could not be.
func (q *Queue) finish(e *entry, result *Result, err error) {
	var value []byte
	if err == nil {
		result.bound()
		if value = appendResult(nil, result); len(value) > maxResultBytes {
			err = fmt.Errorf("the result takes %d bytes, allowed are %d; ask for fewer keys", len(value), maxResultBytes)
		}
	}
	if err != nil {
		q.end(e, Failed, err.Error(), nil)
		return
	}
	q.end(e, Done, "", value)
}

// end e for good, and give up the oldest of those that have ended where there are too many.
func (q *Queue) end(e *entry, s Status, reason string, result []byte) {
	e.Status, e.Ended, e.Error = s, q.Now(), bounded(reason, maxErrorBytes)
	q.stage(e, result)
	e.Keys = nil
	q.ended++
	q.bytes += e.bytes
	q.makeRoom()
}

// makeRoom gives up those that ended first, until the rest may be kept.
func (q *Queue) makeRoom() {
	fits := func() bool { return q.ended <= q.Keep && q.bytes <= q.KeepBytes }
	if fits() {
		return
	}
	ended := slices.DeleteFunc(slices.Clone(q.order), func(e *entry) bool { return !e.Status.Ended() })
	slices.SortStableFunc(ended, func(a, b *entry) int { return a.Ended.Compare(b.Ended) })
	var gone depot.Change
	for _, e := range ended {
		if fits() {
			break
		}
		q.ended--
		q.bytes -= e.bytes
		delete(q.jobs, e.ID)
		gone.Delete(JobPrefix + e.ID)
		gone.Delete(ResultPrefix + e.ID)
	}
	q.order = slices.DeleteFunc(q.order, func(e *entry) bool { return q.jobs[e.ID] == nil })
	q.Storage.Apply(&gone)
}

// stage what is to be stored of e, with its result, if there is one.
func (q *Queue) stage(e *entry, result []byte) {
	var c depot.Change
	value := appendJob(nil, &e.Job)
	e.bytes = int64(len(value) + len(result))
	err := c.Set(JobPrefix+e.ID, value)
	if result != nil {
		err = errors.Join(err, c.Set(ResultPrefix+e.ID, result))
	}
	if err != nil {
		panic("recounts: " + err.Error()) // cannot be: both are bounded
	}
	q.Storage.Apply(&c)
}

// now is the job as it stands.
func (e *entry) now() Job {
	j := e.Job
	switch j.Status {
	case Done:
		j.Progress = 1
	case Running:
		j.Progress = min(1, float64(e.done.Load())/millionths)
	}
	return j
}

// bound what is told of files that were left out.
func (res *Result) bound() {
	res.LeftOut = res.LeftOut[:min(len(res.LeftOut), maxLeftOut)]
	for i, text := range res.LeftOut {
		res.LeftOut[i] = bounded(text, maxErrorBytes)
	}
}

// bounded is text of at most so many bytes, and valid UTF-8.
func bounded(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
