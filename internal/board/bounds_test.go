package board

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

func TestShardsThatComeAndGoBetweenPublicationsAreBounded(t *testing.T) {
	cfg := wallConfig()
	cfg.MaxEpochs = 10
	b := New(cfg)
	refused := 0
	for i := range uint64(1000) {
		r := &wire.Report{Shard: "a"}
		binary.LittleEndian.PutUint64(r.Epoch[:], i+1)
		if err := b.Report(r, noon); err != nil {
			require.ErrorIs(t, err, ErrOverloaded)
			refused++
		}
		r.Goodbye = true
		require.NoError(t, b.Report(r, noon))
	}
	assert.Len(t, b.epochs, 20)
	assert.Equal(t, 980, refused)
	b.Publish(noon)
	require.NoError(t, b.Report(&wire.Report{Epoch: wire.Epoch{0, 0, 1}, Shard: "b"}, noon), "there is room again")
}

func TestAClockThatComesFromFarBackNotesSilenceOnlyInHoursThatAreKept(t *testing.T) {
	cfg, s := wallConfig(), newShelf()
	cfg.Shelf = s
	b := New(cfg)
	a, c := newShard(t, 1, "a", ungrouped(t, "tenants")), newShard(t, 2, "c", ungrouped(t, "tenants"))
	boot := int64(time.Hour)
	a.add(boot, global, "x", 1)
	require.NoError(t, b.Report(&a.report, boot))
	accept(t, b, boot, a.send(window.MinuteOf(boot), false)...)
	require.NoError(t, b.Report(&c.report, noon))
	before := s.sets
	b.Publish(noon)
	assert.Less(t, s.sets-before, 100)
}

func TestHoursThatAReplayPassesBeforeTheyArePublishedAreForgotten(t *testing.T) {
	cfg := wallConfig()
	cfg.Event = true
	b := New(cfg)
	s := newShard(t, 1, "a", ungrouped(t, "tenants"))
	now := noon + int64(60*24*time.Hour)
	for h := range 50 * 24 {
		at := noon + int64(h)*int64(time.Hour)
		s.add(at, global, "x", 1)
		accept(t, b, now, s.send(window.MinuteOf(at), true)...)
		b.Publish(now)
	}
	for range 3 {
		now += int64(time.Minute)
		b.Publish(now)
	}
	assert.LessOrEqual(t, len(b.rules["tenants"].served.changes), 26)
}

// A file of some days is read at once, before the first publication.
func TestHoursThatComeAtOnceAreAllPublished(t *testing.T) {
	cfg := wallConfig()
	cfg.Event, cfg.Shelf, cfg.KeepHours = true, blackHole{}, 90*24*time.Hour
	b := New(cfg)
	s := newShard(t, 1, "a", ungrouped(t, "tenants"))
	const hours = 100
	now := noon + hours*int64(time.Hour)
	for h := range hours {
		at := noon + int64(h)*int64(time.Hour)
		s.add(at, global, "x", 1)
		accept(t, b, now, s.send(window.MinuteOf(at), true)...)
	}
	published := map[window.Minute]bool{}
	for _, r := range b.Publish(now).Rollups {
		published[r.Hour] = true
	}
	assert.Len(t, published, hours-1, "all but the one that is open")
}
