package topkexporter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/rule"
)

// What jobs that have ended may take in storage, bytes.
const (
	recountsStored   = 1 << 30
	recountsInMemory = 64 << 20
)

// recounting is what all exact counts share: the archive, the rules as they are configured here, and the jobs.
type recounting struct {
	config *RecountConfig
	rules  map[string]*rule.Rule
	names  []string // of the rules, sorted
	queue  *recounts.Queue

	count recounts.Counter

	telemetry *telemetry
	told      map[string][]string // fields of rules that differ from what was counted, as the log says; of who tends alone

	// From open on.
	store *archive.Store
	exact *exact.Exact
}

// newRecounting is nil where recounts are not configured.
func newRecounting(config *Config, set component.TelemetrySettings, s *store, t *telemetry) (*recounting, error) {
	if !config.Recount.HasValue() {
		return nil, nil
	}
	r := &recounting{config: config.Recount.Get(), rules: map[string]*rule.Rule{}, telemetry: t, told: map[string][]string{}}
	seed := string(r.config.Seed)
	for i, c := range r.config.Rules {
		compiled, err := rule.New(c, rule.SeedOf(seed), seed, set)
		if err != nil {
			return nil, fmt.Errorf("recount.rules[%d]: %w", i, err)
		}
		r.rules[c.Name] = compiled
	}
	r.names = slices.Sorted(maps.Keys(r.rules))
	r.count = r.countArchive
	r.queue = recounts.New(recounts.Options{
		Count: func(ctx context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
			return r.count(ctx, o, progress)
		},
		Storage: jobStorage{s}, Now: time.Now,
		Most: r.config.MaxJobs, Waiting: r.config.MaxWaiting, Keep: r.config.KeepJobs, KeepBytes: recountsInMemory,
		Began: t.recountBegan, Ended: t.recountEnded,
	})
	return r, t.observeRecounts(r.queue)
}

// countArchive is how orders are counted.
func (r *recounting) countArchive(ctx context.Context, o *recounts.Order, progress func(float64, int64)) (*recounts.Result, error) {
	return recounts.Count(ctx, r.store, r.rules, r.config.counting(), o, progress)
}

// open the archive. A bucket that is down is no error.
func (r *recounting) open(ctx context.Context, s *store, host component.Host) error {
	if r == nil {
		return nil
	}
	if err := r.config.checkDirectory(); err != nil {
		return err
	}
	var err error
	if r.store, err = archive.OpenStore(ctx, r.config.Archive); err != nil {
		return fmt.Errorf("recount.archive: %w", err)
	}
	r.exact = r.newExact(s, host)
	return nil
}

// start closing hours.
func (r *recounting) start() {
	if r != nil {
		r.exact.Start()
	}
}

// definitions of the rules that are counted exactly, by name.
func (r *recounting) definitions() map[string]*rule.Definition {
	definitions := map[string]*rule.Definition{}
	if r != nil && r.exact != nil {
		for _, name := range r.names {
			if d := r.exact.Definition(name); d != nil {
				definitions[name] = d
			}
		}
	}
	return definitions
}

// restore the jobs and the audits that a storage holds.
func (r *recounting) restore(ctx context.Context, found *restored, d *depot.Depot) {
	if r == nil {
		return
	}
	r.queue.KeepBytes = recountsStored
	r.queue.Restore(ctx, found.jobs, found.results)
	for key, value := range found.audits {
		if !r.exact.Restore(key, value) {
			d.SetAside(key, value)
		}
	}
}

// stop the jobs that run, so that they begin anew at the next start, and closing hours.
func (r *recounting) stop(ctx context.Context) error {
	if r == nil {
		return nil
	}
	if r.exact != nil {
		r.exact.Close()
	}
	return r.queue.Close(ctx)
}

// close what open opened.
func (r *recounting) close() error {
	if r == nil || r.store == nil {
		return nil
	}
	return r.store.Close()
}

// countable says whether the records of r are archived: data points are not.
func countable(r *rule.Rule) bool {
	return !slices.Contains(r.Definition().Signals, rule.SignalMetrics)
}

// closed is the time up to which hours are closed.
func (r *recounting) closed(now time.Time) time.Time {
	return now.Add(-r.config.Grace).UTC().Truncate(time.Hour)
}

// jobStorage keeps jobs in the storage of the exporter.
type jobStorage struct{ store *store }

func (s jobStorage) Apply(c *depot.Change) { s.store.storage.depot.Apply(c) }

func (s jobStorage) Commit(ctx context.Context) {
	s.store.writing.Lock()
	defer s.store.writing.Unlock()
	s.store.commit(ctx)
}

func (s jobStorage) Read(ctx context.Context, keys []string) ([][]byte, error) {
	return s.store.storage.read(ctx, keys)
}
