package parquetexporter

import (
	"iter"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// idle is how long ago the first record must have been archived before a column that none filled is named; the stop names it at once.
const idle = 5 * time.Minute

// columns are the attributes with a column of their own, and in how many records they were found.
type columns struct {
	all    []archive.Column
	logger *zap.Logger

	mu    sync.Mutex
	usage []columnUsage // of each
}

type columnUsage struct {
	records int64
	since   time.Time // when the first records were archived that could have filled it
	named   bool      // the log says that it matches nothing
}

func newColumns(all []archive.Column, logger *zap.Logger) *columns {
	return &columns{all: all, logger: logger, usage: make([]columnUsage, len(all))}
}

// found is in how many archived records each was, by its path.
func (c *columns) found() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, column := range c.all {
			if !yield(column.Path, c.usage[i].records) {
				return
			}
		}
	}
}

// archived records of signal: present says in how many of them each was.
func (c *columns) archived(signal string, present []int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, column := range c.all {
		if !fits(column.Path, signal) {
			continue
		}
		u := &c.usage[i]
		u.records += present[i]
		if u.since.IsZero() {
			u.since = now
		}
	}
}

// remind of columns that no record filled since the first that could have was archived, age ago or longer.
func (c *columns) remind(now time.Time, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, column := range c.all {
		if u := &c.usage[i]; !u.since.IsZero() && u.records == 0 && !u.named && now.Sub(u.since) >= age {
			u.named = true
			c.logger.Warn("A path in columns was found in no record yet; is it right?", zap.String("path", column.Path))
		}
	}
}

// fits says whether records of signal can have the attribute.
func fits(path, signal string) bool {
	switch context, _, _ := strings.Cut(strings.TrimSpace(path), "."); context {
	case "log":
		return signal == rule.SignalLogs
	case "span":
		return signal == rule.SignalTraces
	default:
		return true
	}
}
