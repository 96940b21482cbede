package trendreceiver

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// wall shows the newest list of each rule, window and group, as an exporter does, and sees to it that no total goes back while
// its window stands.
type wall struct {
	t testing.TB

	mu       sync.Mutex
	lists    map[series]*wire.Snapshot
	hours    map[hour]*wire.Rollup
	first    time.Time // when the first list came
	requests []int     // bytes of each
}

// hour of a group.
type hour struct {
	rule  string
	first window.Minute
	group rule.Group
}

func newWall(t testing.TB) *wall {
	return &wall{t: t, lists: map[series]*wire.Snapshot{}, hours: map[hour]*wire.Rollup{}}
}

func (*wall) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (w *wall) ConsumeLogs(_ context.Context, ld plog.Logs) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first.IsZero() {
		w.first = time.Now()
	}
	w.requests = append(w.requests, (&plog.ProtoMarshaler{}).LogsSize(ld))
	for v, err := range wire.Publications(ld) {
		if !assert.NoError(w.t, err) {
			continue
		}
		switch v := v.(type) {
		case *wire.Snapshot:
			id := seriesOf(v)
			if old := w.lists[id]; old != nil && old.WindowStart.Equal(v.WindowStart) {
				assert.GreaterOrEqual(w.t, v.Total, old.Total, "a total goes back")
			}
			w.lists[id] = v
		case *wire.Rollup:
			w.hours[hour{v.Rule.Name, v.Hour, v.Group}] = v
		}
	}
	return nil
}

// shown are the newest lists.
func (w *wall) shown() map[series]*wire.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.lists)
}

// closed are the newest rollups.
func (w *wall) closed() map[hour]*wire.Rollup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.hours)
}

// global is the global list of the rule of a shard in the shortest window.
func (w *wall) global() *wire.Snapshot {
	if s := w.shown()[series{"tenants", 5 * time.Minute, rule.Group{}}]; s != nil {
		return s
	}
	return &wire.Snapshot{}
}

// until waits for lists, which come by themselves.
func (w *wall) until(holds func() bool, msg string) {
	w.t.Helper()
	require.Eventually(w.t, holds, 10*time.Second, time.Millisecond, msg)
}
