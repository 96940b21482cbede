package board

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/topk"
)

// TestHoursThatLeftEveryWindowAreFlatAndKeepTheLaw: two days of a grouped rule whose tables overflow, with restarts. Hours older than a
// day take a small part of what they took, bound every key, and leave when they were kept long enough.
func TestHoursThatLeftEveryWindowAreFlatAndKeepTheLaw(t *testing.T) {
	cfg := wallConfig()
	s := newShelf()
	cfg.Shelf, cfg.KeepHours = s, 40*time.Hour
	b := New(cfg)
	d := grouped(t, "rule")
	d.Residents, d.K, d.Shape = 20, 10, topk.Shape{Width: 500, Depth: 4, Seed: 3}
	sh := newShard(t, 1, "s", d)
	o, h := newOracle(), history{}
	start := window.MinuteOf(noon)
	now := noon
	sizes := func(hour window.Minute) (n int) {
		for g, at := range b.rules["rule"].definitions[d.Fingerprint()].parts[window.Part{Start: hour, Size: window.OneHour}] {
			if g.Value().Scope == rule.ScopeGroup {
				n += at.size
			}
		}
		return n
	}
	first := 0
	for i := range 45 * 6 {
		for n := range 200 {
			sh.add(now, rule.Group{Scope: rule.ScopeGroup, Name: fmt.Sprint("g", n%3)}, fmt.Sprint("key-", (n*n+i)%(40+n)), 1)
		}
		m := window.MinuteOf(now)
		for _, st := range sh.send(m, true) {
			require.NoError(t, b.Accept(st.State, now))
			o.delivered(st)
		}
		delete(sh.minutes, m)
		now += int64(10 * time.Minute)
		if i%50 == 49 {
			b = restored(t, cfg, now)
		}
		h.take(t, b.Publish(now).Rollups)
		if i == 20 {
			first = sizes(start)
			require.Positive(t, first)
		}
		if m-start == 27*60 {
			require.Less(t, sizes(start), first/2, "it is flat")
			h = history{} // a reader that lost all gets them again, the flat ones too
		}
		if i%6 == 0 && i > 220 {
			o.checkHours(t, h, b, window.MinuteOf(now), false)
		}
	}
	old := h[hourKey{start + 6*60, rule.Group{Scope: rule.ScopeGroup, Name: "g1"}}].Summary
	require.Equal(t, d.Residents, old.Size(), "a flat hour keeps its residents")
	require.Zero(t, sizes(start), "it left after 41 hours")
	require.Zero(t, b.Stats().Unreadable)
	for key := range s.values {
		require.NotContains(t, key, partText(window.Part{Start: start, Size: window.OneHour}))
	}
}
