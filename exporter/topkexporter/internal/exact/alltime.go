package exact

import (
	"time"

	"github.com/otel-topk/collector/internal/archive"
)

// coverAll is the table of all time and what follows it.
func (x *Exact) coverAll(l *ledger, served func(archive.Hour) bool, now time.Time) (*cover, Status) {
	first, known := x.firstOf(l)
	if !x.looked || !known {
		return nil, Pending
	}
	c := &cover{ledger: l, from: max(first, x.oldest(l)), to: x.lastClosed(l, now) + 1}
	if c.from >= c.to {
		return nil, Pending
	}
	parts, whole := x.allParts(l, now)
	if !whole {
		return c, Pending
	}
	if len(parts) > 0 {
		if l.all.version == "" || l.all.judged != digestParts(parts) {
			return c, Pending
		}
		c.from = l.all.from
		c.add(l.place(all, 0), &l.all)
		return c, x.extend(c, l.all.to, c.to, served)
	}
	return c, x.extend(c, c.from, c.to, served)
}

// lastClosed is the newest hour of the archive that is closed.
func (x *Exact) lastClosed(l *ledger, now time.Time) archive.Hour {
	last, _ := x.newest(l)
	for !x.closed(l, last, 1, now) {
		last--
	}
	return last
}
