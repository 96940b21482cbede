package faults

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/testbed/archived"
)

// reader reads an archive all along. Each file that is listed must be whole, stay, and never be another one.
type reader struct {
	store *archive.Store

	mu       sync.Mutex
	away     bool             // the archive cannot be read for now, and errors say nothing
	sizes    map[string]int64 // of the files that were read, by path
	found    records
	looks    int
	problems []error
}

// startReader of the archive at url, until the test ends.
func startReader(t *testing.T, url string) *reader {
	t.Helper()
	r := &reader{store: archived.Open(t, url), sizes: make(map[string]int64), found: make(records)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := r.look(ctx); err != nil && ctx.Err() == nil {
				r.note(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return r
}

// look at what is listed, and read what is new.
func (r *reader) look(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	seen := 0
	err := archived.Read(ctx, r.store, rule.SignalLogs, func(file archive.File, whole *archive.Reader) error {
		path := file.Path()
		if size, known := r.sizes[path]; known {
			seen++
			if size != file.Size {
				return fmt.Errorf("%d bytes that were %d before", file.Size, size)
			}
			return nil
		}
		var list []numbered
		if err := archived.LogsOf(ctx, file, whole, func(_ archive.File, record plog.LogRecord) {
			if n := numberOf(record); n.request != "" {
				list = append(list, n)
			}
		}); err != nil {
			return err
		}
		r.found.add(list)
		r.sizes[path] = file.Size
		seen++
		return nil
	})
	switch {
	case r.away:
		return nil
	case err == nil && seen < len(r.sizes):
		return fmt.Errorf("%d files are listed, fewer than %d that were", seen, len(r.sizes))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("a listed file is gone: %w", err)
	}
	return err
}

// numbered is what a record says of itself.
type numbered struct {
	request string
	number  int
}

func numberOf(record plog.LogRecord) numbered {
	request, _ := record.Attributes().Get("request")
	number, _ := record.Attributes().Get("number")
	return numbered{request.Str(), int(number.Int())}
}

func (r records) add(list []numbered) {
	for _, n := range list {
		if r[n.request] == nil {
			r[n.request] = make(map[int]int)
		}
		r[n.request][n.number]++
	}
}

func (r *reader) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Errorf("at %s: %w", time.Now().Format("15:04:05.000"), err))
}

// allow that the archive is away.
func (r *reader) allow(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

// wrong is what was found so far.
func (r *reader) wrong() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return few(r.problems)
}

// holds waits until the archive holds what is answered, and a while longer; then it says what is wrong.
func (r *reader) holds(b *book) error {
	against := func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return b.against(r.found)
	}
	err := against()
	for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); err = against() {
		<-time.After(100 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("after %v: %w", patience, err)
	}
	<-time.After(afterglow)
	return errors.Join(against(), r.wrong())
}

// count of looks.
func (r *reader) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looks
}

// total of the records that were found.
func (r *reader) total() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, numbers := range r.found {
		for _, times := range numbers {
			n += times
		}
	}
	return n
}
