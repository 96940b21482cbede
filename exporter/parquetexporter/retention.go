package parquetexporter

import (
	"context"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
)

// sweepEvery is how often files that are too old are looked for.
const sweepEvery = time.Hour

// sweep the archive until ctx ends.
func (a *archiver) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		a.deleteOld(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// deleteOld deletes the files whose hour ended longer than keep ago.
func (a *archiver) deleteOld(ctx context.Context, now time.Time) {
	until := archive.HourOf(now.Add(-a.config.Keep).UnixNano())
	for _, signal := range signals {
		files, _, err := a.bucket.Files(ctx, signal, archive.HourOf(math.MinInt64), until)
		deleted := int64(0)
		for _, f := range files {
			if err = a.bucket.Delete(ctx, f.Path()); err != nil {
				break
			}
			deleted++
		}
		a.telemetry.deleted(ctx, signal, deleted)
		if err != nil && ctx.Err() == nil {
			a.telemetry.logger.Warn("Files older than keep could not all be deleted; it is tried again in an hour",
				zap.String("signal", signal), zap.Int64("deleted", deleted), zap.Error(err))
		}
	}
}
