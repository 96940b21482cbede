package shared

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAReaderTakesWhatChanged(t *testing.T) {
	w := newWorld(t)
	a := w.writer()
	w.put(a, hour, list(1, 0))
	r := w.reader()
	w.eventually(func() bool { return w.last() == "1 at 0" })
	w.put(a, Name{Rule: "other", Window: time.Hour}, list(2, 0))
	w.eventually(func() bool { return w.last() == "2 at 0" })
	assert.True(t, r.Up())
}

// hear calls f for each command of the server, before it is run.
func (w *world) hear(f func(command string)) {
	w.server.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
		f(command)
		return false
	})
}

func TestAReaderOfWhatDoesNotChangeReadsNothing(t *testing.T) {
	w := newWorld(t)
	w.put(w.writer(), hour, list(1, 0))
	r := w.reader()
	<-r.First()
	assert.Equal(t, "1 at 0", w.last(), "all was read by then")
	var polls, reads atomic.Int64
	w.hear(func(command string) {
		switch command {
		case "ZRANGEBYSCORE":
			polls.Add(1)
		case "HGET":
			reads.Add(1)
		}
	})
	w.eventually(func() bool { return polls.Load() > 10 })
	assert.Zero(t, reads.Load())
}

func TestAReaderOfAnEmptyServerHasReadAll(t *testing.T) {
	w := newWorld(t)
	r := w.reader()
	<-r.First()
	assert.True(t, r.Up())
	w.server.Close()
	away := w.reader()
	<-away.First()
	assert.False(t, away.Up())
}

// Thousands of lists of a slow server take longer than any timeout.
func TestAReaderGoesOnWhereItFailed(t *testing.T) {
	for name, slow := range map[string]time.Duration{"a slow server": 400 * time.Microsecond, "a server too slow for a full batch": 3 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			lists := int(300 * time.Millisecond / slow)
			a := w.writer()
			for i := range lists {
				a.Put(Name{Rule: fmt.Sprint(i), Window: time.Hour}, list(uint64(i), 0))
			}
			w.eventually(func() bool { return a.Written.Load() == uint64(lists) })
			w.hear(func(command string) {
				if command == "HGET" {
					<-time.After(slow)
				}
			})
			w.config.Timeout = 50 * time.Millisecond
			r := w.reader()
			w.eventually(func() bool { return r.Taken.Load() >= uint64(lists) })
			taken := map[string]bool{}
			for _, text := range w.taken {
				taken[text] = true
			}
			assert.Len(t, taken, lists)
			assert.Less(t, len(w.taken), 2*lists, "it does not begin from the start again")
		})
	}
}

func TestAListThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	a := w.writer()
	w.put(a, hour, list(1, 0))
	w.put(a, Name{Rule: "other", Window: time.Hour}, list(2, 0))
	w.server.Del("topk:publication:tenants:1h:global")
	require.NoError(t, w.server.Set("topk:publication:tenants:1h:global", "somebody else's"))
	r := w.reader()
	<-r.First()
	assert.Equal(t, "2 at 0", w.last())
	assert.EqualValues(t, 1, r.Refused.Load())
	assert.True(t, r.Up())
}

func TestAServerWhoseClockIsBehindThatOfTheOneBeforeHidesNothing(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	w.server.SetTime(now)
	var h heard
	a := w.writerThat(func() {}, h.log())
	w.put(a, hour, list(1, 0))
	r := w.reader()
	<-r.First()
	w.server.Close()
	w.eventually(func() bool { return !r.Up() })
	w.server.FlushAll()
	w.server.SetTime(now.Add(-24 * time.Hour))
	require.NoError(t, w.server.Restart())
	w.put(a, hour, list(2, 1))
	w.eventually(func() bool { return w.last() == "2 at 1" })
	require.NoError(t, a.Close(context.Background()))
}
