package parquetexporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// patience is how long a shutdown goes on archiving. What is not archived then waits for the next start.
const patience = 30 * time.Second

// bucket is what is used of an archive.Store.
type bucket interface {
	Put(ctx context.Context, path string, write func(io.Writer) error) (int64, error)
	Delete(ctx context.Context, path string) error
	Files(ctx context.Context, signal string, from, to archive.Hour) ([]archive.File, []string, error)
	Tidy(ctx context.Context, shard string) (int, error)
	Name() string
	Close() error
}

// archiver is what all exporters of one configuration share: requests go into segments, and segments into the archive.
type archiver struct {
	config    *Config
	shard     string
	columns   *columns
	codec     *segment.Codec
	requests  sync.Pool // of *request
	telemetry *telemetry
	health    *health
	disk      segment.Disk // nil: the operating system's
	connect   func(ctx context.Context, url string) (bucket, error)
	create    func(w io.Writer, meta archive.Meta) (writer, error)

	life       sync.Mutex
	folder     *segment.Folder // nil: not started
	bucket     bucket
	stop       context.CancelFunc // seal and delete no more, and archive what there is
	abandon    context.CancelFunc // archive no more
	background sync.WaitGroup
}

func newArchiver(cfg *Config, set component.TelemetrySettings) (*archiver, error) {
	set = shared(set)
	parsed, err := archive.ParseColumns(cfg.Columns)
	if err != nil {
		return nil, err
	}
	a := &archiver{config: cfg, shard: cfg.Shard, columns: newColumns(parsed, set.Logger), connect: open, create: create}
	if a.shard == "" {
		if id, ok := set.Resource.Attributes().Get("service.instance.id"); ok {
			a.shard = id.AsString()
		}
	}
	if a.codec, err = segment.NewCodec(); err != nil {
		return nil, err
	}
	if a.telemetry, err = newTelemetry(set); err != nil {
		return nil, err
	}
	a.health = newHealth(set.Logger)
	return a, nil
}

func open(ctx context.Context, url string) (bucket, error) {
	store, err := archive.OpenStore(ctx, url)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// writer is what is used of an archive.Writer.
type writer interface {
	Log(rl plog.ResourceLogs, sl plog.ScopeLogs, record plog.LogRecord, now int64) error
	Span(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, now int64) error
	Rows() int64
	Present() []int64
	Close() error
}

func create(w io.Writer, meta archive.Meta) (writer, error) {
	writer, err := archive.NewWriter(w, meta)
	if err != nil {
		return nil, err
	}
	return writer, nil
}

// start once.
func (a *archiver) start(ctx context.Context, host component.Host) error {
	a.life.Lock()
	defer a.life.Unlock()
	a.health.attend(host)
	if a.folder != nil {
		return nil
	}
	folder, err := segment.OpenFolder(segment.Options{
		Directory:  a.config.Directory,
		Shard:      a.shard,
		Fsync:      a.config.Fsync,
		MaxSize:    a.config.Segment.MaxSize,
		MaxAge:     a.config.Segment.MaxAge,
		MaxPending: a.config.MaxPending,
		Disk:       a.disk,
	})
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	b, err := a.connect(ctx, a.config.Archive)
	if err != nil {
		return errors.Join(fmt.Errorf("archive: %w", err), folder.Close())
	}
	a.folder, a.bucket = folder, b
	if err := a.telemetry.observe(a); err != nil {
		return errors.Join(err, folder.Close(), b.Close())
	}
	a.telemetry.logger.Info("Archiving", zap.String("archive", b.Name()), zap.String("directory", a.config.Directory), zap.String("shard", a.shard))
	if left := folder.Pending(); left.Segments > 0 {
		a.telemetry.logger.Info("Segments of an earlier process are archived first", zap.Int("segments", left.Segments), zap.Int64("bytes", left.Bytes))
	}
	var living, archiving context.Context
	living, a.stop = context.WithCancel(context.Background())
	archiving, a.abandon = context.WithCancel(context.Background())
	a.background.Go(func() { a.seal(living) })
	a.background.Go(func() { a.sweep(living) })
	a.background.Go(func() { newConverter(a).run(archiving, living.Done()) })
	return nil
}

// seal segments in time, and see whether requests are taken again.
func (a *archiver) seal(ctx context.Context) {
	ticker := time.NewTicker(min(time.Second, a.config.Segment.MaxAge))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			a.folder.Seal(now)
			a.health.recover(now)
			a.columns.remind(now, idle)
		}
	}
}

// shutdown, by the last user: what is open is sealed and archived, as far as ctx, patience and the archive allow.
func (a *archiver) shutdown(ctx context.Context) error {
	a.life.Lock()
	defer a.life.Unlock()
	defer a.telemetry.shutdown()
	if a.folder == nil || a.abandon == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer a.abandon()
	defer context.AfterFunc(ctx, a.abandon)()
	a.folder.End()
	a.stop()
	a.background.Wait()
	a.columns.remind(time.Now(), 0)
	if left := a.folder.Pending(); left.Segments > 0 {
		a.telemetry.logger.Info("Stopped before every segment was archived; they wait in the directory for the next start",
			zap.Int("segments", left.Segments), zap.Int64("bytes", left.Bytes))
	}
	return errors.Join(a.folder.Close(), a.bucket.Close())
}

// signals that are archived.
var signals = []string{rule.SignalLogs, rule.SignalTraces}
