package recounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/otel-topk/collector/internal/depot"
)

// Get a job with its keys, and with its result if it is done and that can still be read.
func (q *Queue) Get(ctx context.Context, id string) (Job, *Result, error) {
	q.mu.Lock()
	e := q.jobs[id]
	if e == nil {
		q.mu.Unlock()
		return Job{}, nil, ErrUnknown
	}
	job := e.now()
	q.mu.Unlock()
	if !job.Status.Ended() {
		return job, nil, nil
	}
	values, err := q.Storage.Read(ctx, []string{JobPrefix + id, ResultPrefix + id})
	if err != nil {
		return Job{}, nil, err
	}
	if stored, err := DecodeJob(JobPrefix+id, values[0]); err == nil {
		job.Keys = stored.Keys
	}
	if job.Status != Done {
		return job, nil, nil
	}
	result, err := decodeResult(values[1])
	if err != nil { // it was damaged, and set aside
		return job, nil, nil
	}
	return job, result, nil
}

// Newest jobs, at most so many, the newest first, without their keys.
func (q *Queue) Newest(most int) []Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := make([]Job, 0, min(most, len(q.order)))
	for _, e := range slices.Backward(q.order) {
		if len(jobs) == most {
			break
		}
		job := e.now()
		job.Keys = nil
		jobs = append(jobs, job)
	}
	return jobs
}

// State is how many jobs there are.
type State struct{ Running, Waiting, Ended int }

// State of the queue.
func (q *Queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return State{q.running, len(q.waiting), q.ended}
}

// Cancel a job. One that runs stops soon; one that was canceled before stays so.
func (q *Queue) Cancel(ctx context.Context, id string) (Job, error) {
	q.mu.Lock()
	e := q.jobs[id]
	if e == nil {
		q.mu.Unlock()
		return Job{}, ErrUnknown
	}
	before := e.Status
	if !before.Ended() {
		q.end(e, Canceled, "", nil)
	}
	switch before {
	case Running:
		e.cancel()
	case Queued:
		q.waiting = slices.DeleteFunc(q.waiting, func(o *entry) bool { return o == e })
	}
	job := e.now()
	q.mu.Unlock()
	q.Storage.Commit(ctx)
	switch before {
	case Queued:
		q.Ended(job, Effort{})
	case Done, Failed:
		return job, ErrEnded
	}
	return job, nil
}

// Restore what was stored, at the start: jobs, and the sizes of results by key. Jobs that had not ended begin anew.
func (q *Queue) Restore(ctx context.Context, jobs []*Job, results map[string]int) {
	var failed []Job
	q.mu.Lock()
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	for _, j := range jobs {
		if e := q.restore(j, int64(results[ResultPrefix+j.ID])); e.Status == Failed && !j.Status.Ended() {
			failed = append(failed, e.now())
		}
	}
	q.makeRoom()
	q.forget(results)
	q.next()
	q.mu.Unlock()
	q.Storage.Commit(ctx)
	for _, job := range failed {
		q.Ended(job, Effort{})
	}
}

func (q *Queue) restore(j *Job, resultBytes int64) *entry {
	e := &entry{Job: *j}
	q.add(e)
	switch {
	case j.Status.Ended():
		e.bytes = int64(len(appendJob(nil, j))) + resultBytes
		e.Keys = nil
		q.ended++
		q.bytes += e.bytes
	case j.Attempts >= maxAttempts:
		q.end(e, Failed, fmt.Sprintf("it was cut off by the end of the process %d times", j.Attempts), nil)
	default:
		e.Status = Queued
		q.waiting = append(q.waiting, e)
	}
	return e
}

// forget results of jobs that are not known.
func (q *Queue) forget(results map[string]int) {
	var gone depot.Change
	for key := range results {
		if q.jobs[strings.TrimPrefix(key, ResultPrefix)] == nil {
			gone.Delete(key)
		}
	}
	q.Storage.Apply(&gone)
}

// Close stops what runs and keeps it for the next start. It waits for that until ctx ends.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	for _, e := range q.order {
		if e.Status == Running {
			e.cancel()
		}
	}
	q.mu.Unlock()
	stopped := make(chan struct{})
	go func() {
		q.workers.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("recounts still run: %w", ctx.Err())
	}
}
