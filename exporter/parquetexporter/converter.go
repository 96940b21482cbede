package parquetexporter

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
)

// converter archives segments, one at a time, oldest first. A segment is removed once all its files are complete; until then each
// try, of this process or a later one, writes the same files again.
type converter struct {
	archiver *archiver
	aside    map[*segment.Segment]map[int64]bool // by offset: what was set aside, and counted
}

func newConverter(a *archiver) *converter {
	return &converter{archiver: a, aside: map[*segment.Segment]map[int64]bool{}}
}

// run until stop is closed and what there is then is archived, or ctx ends, or the archive fails meanwhile.
func (c *converter) run(ctx context.Context, stop <-chan struct{}) {
	a := c.archiver
	c.tidy(ctx)
	retry := a.config.Retry
	wait, turn := time.Duration(0), 0
	for {
		failed := c.round(ctx, turn)
		if failed < 0 {
			wait, turn = 0, 0
		} else {
			// The next one first: a segment that cannot be converted holds up no other.
			turn = failed + 1
			wait = min(max(2*wait, retry.InitialInterval), retry.MaxInterval)
		}
		if !c.pause(wait, stop) {
			break
		}
	}
	if !a.health.down() {
		c.round(ctx, 0)
	}
}

// tidy what earlier processes left half written in the archive. They may have had other shards: a segment whose files were not all
// complete is still there, and says whose it is.
func (c *converter) tidy(ctx context.Context) {
	a := c.archiver
	shards := map[string]bool{a.shard: true}
	for _, s := range a.folder.Sealed() {
		if shard, err := c.shardOf(s); err == nil {
			shards[shard] = true
		}
	}
	removed := 0
	var problems error
	for shard := range shards {
		n, err := a.bucket.Tidy(ctx, shard)
		removed += n
		problems = errors.Join(problems, err)
	}
	if problems != nil {
		a.telemetry.logger.Warn("Files that an earlier process left half written in the archive may still be there", zap.Error(problems))
	}
	if removed > 0 {
		a.telemetry.logger.Info("Removed files that an earlier process left half written in the archive", zap.Int("files", removed))
	}
}

// shardOf a segment.
func (c *converter) shardOf(s *segment.Segment) (string, error) {
	r, err := segment.NewReader(s, c.archiver.codec, c.archiver.shard)
	if err != nil {
		return "", err
	}
	_, err = r.Next()
	return r.Shard(), errors.Join(err, r.Close())
}

// pause until there is something to do; false says that it is the end.
func (c *converter) pause(wait time.Duration, stop <-chan struct{}) bool {
	if wait == 0 {
		select {
		case <-stop:
			return false
		case <-c.archiver.folder.Ready():
			return true
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C:
		return true
	}
}

// round archives what waits, beginning with the segment whose turn it is, until one fails. It says which; -1: none did.
func (c *converter) round(ctx context.Context, turn int) int {
	all := c.archiver.folder.Sealed()
	for i := range all {
		at := (turn + i) % len(all)
		if err := c.archive(ctx, all[at]); err != nil {
			return at
		}
	}
	return -1
}

// archive a segment, and remove it.
func (c *converter) archive(ctx context.Context, s *segment.Segment) error {
	a := c.archiver
	records, err := newConversion(c, s).run(ctx)
	if err == nil {
		err = a.folder.Remove(s)
	}
	if ctx.Err() != nil && err != nil {
		return err // the end of the process is no fault of the archive
	}
	a.telemetry.converted(ctx, s.Signal, records, err)
	a.health.archived(err)
	if err == nil {
		delete(c.aside, s)
	}
	return err
}

// first says whether the item of s is seen for the first time by this process: a segment may be read many times.
func (c *converter) first(s *segment.Segment, item segment.Item) bool {
	seen := c.aside[s]
	if seen == nil {
		seen = map[int64]bool{}
		c.aside[s] = seen
	}
	defer func() { seen[item.Offset] = true }()
	return !seen[item.Offset]
}
