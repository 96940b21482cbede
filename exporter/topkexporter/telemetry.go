package topkexporter

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/metadata"
	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
)

// telemetry tells the operator how the exporter fares.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	logger  *zap.Logger
	limited atomic.Bool  // the log says that max_lists is reached
	refused atomic.Int64 // when the log last said that a list is not shared: Unix nanoseconds
}

func newTelemetry(set component.TelemetrySettings, s *store, requests *requestCounts) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	err = builder.RegisterExporterTopkListsCallback(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(int64(s.catalog().lists))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = builder.RegisterExporterTopkHTTPRequestsCallback(func(_ context.Context, o metric.Int64Observer) error {
		for r := range requests.all() {
			o.Observe(int64(r.count), metric.WithAttributes(attribute.String("route", r.route), attribute.Int("code", r.code)))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &telemetry{builder: builder, logger: set.Logger}, nil
}

// gauge registers what asks for value whenever metrics are read.
func gauge(register func(metric.Int64Callback) error, value func() int64) error {
	return register(func(_ context.Context, o metric.Int64Observer) error {
		o.Observe(value())
		return nil
	})
}

// observe asks for what is kept whenever metrics are read.
func (t *telemetry) observe(config *Config, s *store) error {
	err := errors.Join(
		gauge(t.builder.RegisterExporterTopkHistoryBytesCallback, func() int64 { return s.history.size().bytes }),
		gauge(t.builder.RegisterExporterTopkHistoryRollupsCallback, func() int64 { return s.history.size().rollups }),
		gauge(t.builder.RegisterExporterTopkHistoryRemovedCallback, func() int64 { return s.history.size().removed }),
	)
	if config.Storage == nil {
		return err
	}
	return errors.Join(err,
		gauge(t.builder.RegisterExporterTopkStorageUpCallback, func() int64 { return int64(truth(s.storage.state() == storageUp)) }),
		gauge(t.builder.RegisterExporterTopkStoredDamagedCallback, func() int64 { return int64(s.storage.depot.Damaged()) }),
	)
}

// observeRecounts asks how many there are whenever metrics are read.
func (t *telemetry) observeRecounts(q *recounts.Queue) error {
	return errors.Join(
		gauge(t.builder.RegisterExporterTopkRecountsRunningCallback, func() int64 { return int64(q.State().Running) }),
		gauge(t.builder.RegisterExporterTopkRecountsWaitingCallback, func() int64 { return int64(q.State().Waiting) }),
	)
}

// recountBegan tells of an attempt. What was asked for, and why, is in the answer of the API, never in the log.
func (t *telemetry) recountBegan(j recounts.Job) {
	t.logger.Info("A recount begins", zap.String("job_id", j.ID), zap.String("rule", j.Rule), zap.Time("from", j.From), zap.Time("to", j.To),
		zap.Int("attempt", j.Attempts))
}

// recountEnded counts a recount and tells of it.
func (t *telemetry) recountEnded(j recounts.Job, e recounts.Effort) {
	ctx, status := context.Background(), metric.WithAttributes(attribute.String("status", j.Status.String()))
	t.builder.ExporterTopkRecounts.Add(ctx, 1, status)
	t.builder.ExporterTopkRecountRecords.Add(ctx, e.Records)
	t.builder.ExporterTopkRecountLeftOut.Add(ctx, int64(e.LeftOut))
	if e.Running > 0 {
		t.builder.ExporterTopkRecountDuration.Record(ctx, e.Running.Seconds(), status)
	}
	tell, text, cause := t.logger.Info, "A recount has ended", zap.Skip()
	if j.Status == recounts.Failed {
		tell, text, cause = t.logger.Warn, "A recount has failed; /v1/recounts/{job_id} says more", zap.String("cause", e.Cause)
	}
	tell(text, cause, zap.String("job_id", j.ID), zap.String("rule", j.Rule), zap.Stringer("status", j.Status),
		zap.Duration("duration", e.Running), zap.Int64("records", e.Records))
}

// recountsOpened tells where exact counts come from, and whether they may be asked for.
func (t *telemetry) recountsOpened(c *RecountConfig, open bool) {
	archive, _, _ := strings.Cut(c.Archive, "?") // there may be secrets in parameters
	t.logger.Info("Counting exactly what is archived", zap.String("archive", archive), zap.Duration("grace", c.Grace), zap.Int("rules", len(c.Rules)))
	if !open {
		t.logger.Warn("Nobody may ask for recounts: that needs auth, or an endpoint of this machine alone, such as " + defaultEndpoint)
	}
}

// definitionsDiffer tells of a rule that is not answered exactly, nor audited.
func (t *telemetry) definitionsDiffer(name string, fields []string) {
	t.logger.Warn("A rule was counted by another definition than recount.rules has: its lists are not exact, not audited, and not recounted",
		zap.String("rule", name), zap.Strings("differing", fields))
}

func (t *telemetry) recountRefused() {
	t.builder.ExporterTopkRecounts.Add(context.Background(), 1, metric.WithAttributes(attribute.String("status", "refused")))
}

// storageClosed tells that the storage is not used until the next start.
func (t *telemetry) storageClosed(err error) {
	t.logger.Error("The storage cannot be used: lists and history are lost with this process", zap.Error(err))
}

// damage tells of stored values that were set aside, n so far.
func (t *telemetry) damage(n uint64) {
	t.logger.Error("Stored values were damaged and are set aside: what they held is left out until it comes again", zap.Uint64("values", n))
}

// committed counts a write to the storage that failed.
func (t *telemetry) committed(ctx context.Context, err error) {
	if err != nil {
		t.builder.ExporterTopkStorageFailures.Add(ctx, 1)
	}
}

// storing tells that the storage began to fail, or that it works again.
func (t *telemetry) storing(err error) {
	if err != nil {
		t.logger.Error("The storage takes nothing: lists go on from memory", zap.Error(err))
	} else {
		t.logger.Info("The storage works again")
	}
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

// record counts what became of a batch, and says once that the limit is reached, and once that it no longer is.
func (t *telemetry) record(ctx context.Context, batch tally, refused int64) {
	for outcome, n := range map[string]int64{
		"taken": batch.taken, "stale": batch.stale, "unpaired": batch.unpaired, "over_limit": batch.overLimit, "ahead": batch.ahead,
		"refused": refused,
	} {
		if n > 0 {
			t.builder.ExporterTopkPublications.Add(ctx, n, metric.WithAttributes(attribute.String("outcome", outcome)))
		}
	}
	t.builder.ExporterTopkListsRemoved.Add(ctx, batch.removed)
	switch reached := batch.limited != ""; {
	case reached && !t.limited.Swap(true):
		t.logger.Warn("max_lists is reached: new lists take the place of idle ones, or are refused", zap.String("rule", batch.limited))
	case !reached && batch.taken > 0 && t.limited.Swap(false):
		t.logger.Info("max_lists is no longer exceeded")
	}
}

// observeSharing asks how Redis fares whenever metrics are read.
func (t *telemetry) observeSharing(s *sharing) error {
	h := s.health()
	return errors.Join(
		gauge(t.builder.RegisterExporterTopkRedisUpCallback, func() int64 { return int64(truth(h.Up())) }),
		gauge(t.builder.RegisterExporterTopkRedisAgeCallback, func() int64 { return int64(h.Age(time.Now()).Seconds()) }),
		t.builder.RegisterExporterTopkRedisFailuresCallback(func(_ context.Context, o metric.Int64Observer) error {
			for kind, n := range h.Failures() {
				o.Observe(int64(n), metric.WithAttributes(attribute.String("kind", kind.String())))
			}
			return nil
		}),
		t.builder.RegisterExporterTopkRedisListsCallback(func(_ context.Context, o metric.Int64Observer) error {
			for outcome, n := range map[string]uint64{
				"written": h.Written.Load(), "kept": h.Kept.Load(), "read": h.Taken.Load(), "refused": h.Refused.Load(),
			} {
				o.Observe(int64(n), metric.WithAttributes(attribute.String("outcome", outcome)))
			}
			return nil
		}),
	)
}

// sharing tells when Redis begins to fail, and when it is there again.
func (t *telemetry) sharing(err error) {
	if err != nil {
		t.logger.Warn("Redis fails; lists go on from memory", zap.Error(err))
		return
	}
	t.logger.Info("Redis is there again")
}

// refusedEvery is how often the log says that a list is not taken. The metric counts all.
const refusedEvery = 10 * time.Minute

// sharedRefused tells of a list that is not taken, or cannot be read, while others are.
func (t *telemetry) sharedRefused(err error) {
	now := time.Now().UnixNano()
	if last := t.refused.Load(); now-last >= int64(refusedEvery) && t.refused.CompareAndSwap(last, now) {
		t.logger.Warn("A list cannot be shared; the others are, and it is tried again when it is published again", zap.Error(err))
	}
}

// unreadable counts and tells what was read and is no publication.
func (t *telemetry) unreadable(ctx context.Context, err error) {
	t.record(ctx, tally{}, 1)
	t.logger.Error("What Redis holds of a list cannot be read", zap.Error(err))
}
