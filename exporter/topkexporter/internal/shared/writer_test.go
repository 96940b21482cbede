package shared

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAServerThatIsAwayIsToldOnceAndWhatIsNewestIsWrittenThen(t *testing.T) {
	w := newWorld(t)
	var h heard
	a, r := w.writerThat(func() {}, h.log()), w.reader()
	w.put(a, hour, list(1, 0))
	w.server.SetError("OOM command not allowed")
	a.Put(hour, list(2, 1))
	w.eventually(func() bool { return !a.Up() && !r.Up() })
	a.Put(hour, list(3, 2))
	assert.Equal(t, 1, a.Waiting(), "one of each list")
	w.server.SetError("")
	w.eventually(func() bool { return w.last() == "3 at 2" })
	require.NoError(t, a.Close(context.Background()))
	require.Len(t, h.failing, 2)
	assert.ErrorContains(t, h.failing[0], "OOM")
	assert.NoError(t, h.failing[1])
	assert.Empty(t, h.refused)
}

func TestWhatWaitsIsWrittenAtTheEnd(t *testing.T) {
	w := newWorld(t)
	a := w.writerThat(func() {}, Log{})
	for i := range 250 {
		a.Put(Name{Rule: fmt.Sprint(i), Window: time.Hour}, list(1, 0))
	}
	require.NoError(t, a.Close(context.Background()))
	assert.EqualValues(t, 250, a.Written.Load())
}

func TestAListThatIsRefusedHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	var h heard
	a := w.writerThat(func() {}, h.log())
	name := func(i int) Name { return Name{Rule: fmt.Sprint("rule", i), Window: time.Hour} }
	require.NoError(t, w.server.Set("topk:publication:rule7:1h:global", "somebody else's"))
	for i := range 50 {
		a.Put(name(i), list(1, 0))
	}
	a.Put(name(50), func() (*List, error) { return nil, errors.New("too odd") })
	w.eventually(func() bool { return a.Written.Load() == 49 && a.Waiting() == 0 })
	assert.True(t, a.Up(), "Redis does not fail")
	assert.EqualValues(t, 2, a.Refused.Load())
	w.server.Del("topk:publication:rule7:1h:global")
	w.put(a, name(7), list(2, 1))
	assert.Equal(t, "2 at 1", w.get("topk:list:rule7:1h:global"), "when it is published again")
	require.NoError(t, a.Close(context.Background()))
	for kind, n := range a.Failures() {
		assert.Zero(t, n, "%s", kind)
	}
	assert.Empty(t, h.failing)
	require.Len(t, h.refused, 2)
	assert.ErrorContains(t, errors.Join(h.refused...), "WRONGTYPE")
	assert.ErrorContains(t, errors.Join(h.refused...), "it cannot be encoded: too odd")
}

func TestFailuresAreCountedByTheirKind(t *testing.T) {
	for said, want := range map[string]Kind{
		"OOM command not allowed when used memory > 'maxmemory'.":          Unwritable,
		"MISCONF Redis is configured to save RDB snapshots":                Unwritable,
		"READONLY You can't write against a read only replica.":            Unwritable,
		"NOAUTH Authentication required.":                                  Denied,
		"WRONGPASS invalid username-password pair or user is disabled.":    Denied,
		"NOPERM this user has no permissions to run the 'evalsha' command": Denied,
		"LOADING Redis is loading the dataset in memory":                   Busy,
		"BUSY Redis is busy running a script.":                             Busy,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data": Busy,
	} {
		t.Run(want.String()+" "+said[:4], func(t *testing.T) {
			w := newWorld(t)
			w.server.SetError(said)
			a := w.writer()
			a.Put(hour, list(1, 0))
			w.eventually(func() bool { return a.Failures()[want] > 0 })
			assert.Zero(t, a.Refused.Load())
			assert.Equal(t, 1, a.Waiting())
			w.server.SetError("")
		})
	}
	t.Run("no server", func(t *testing.T) {
		w := newWorld(t)
		w.server.Close()
		r := w.reader()
		w.eventually(func() bool { return r.Failures()[Connection] > 0 })
	})
	t.Run("no answer", func(t *testing.T) {
		w := newWorld(t)
		w.deaf()
		w.config.Timeout = 20 * time.Millisecond
		r := w.reader()
		w.eventually(func() bool { return r.Failures()[Timeout] > 0 })
	})
}

// deaf is a server that takes connections and says nothing.
func (w *world) deaf() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w, err)
	w.Cleanup(func() { _ = listener.Close() })
	w.config.Endpoint = listener.Addr().String()
}

func TestNothingWaitsAtTheEndForAServerThatHangs(t *testing.T) {
	w := newWorld(t)
	w.deaf()
	w.config.Timeout = time.Minute
	a := w.writerThat(func() {}, Log{})
	r, err := NewReader(t.Context(), &w.config, nil, Log{})
	require.NoError(t, err)
	a.Put(hour, list(1, 0))
	w.eventually(func() bool { return a.Waiting() == 0 }) // it is on its way
	closed := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		closed <- errors.Join(a.Close(ctx), r.Close(ctx))
	}()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("it waits")
	}
}

func TestAServerThatMayHaveNothingGetsEveryList(t *testing.T) {
	w := newWorld(t)
	var news atomic.Int64
	a := w.writerThat(func() { news.Add(1) }, Log{})
	w.put(a, hour, list(1, 0))
	assert.EqualValues(t, 1, news.Load())
	w.put(a, hour, list(2, 1))
	assert.EqualValues(t, 1, news.Load(), "while the connection lasts")
	w.server.Close()
	w.server.FlushAll()
	require.NoError(t, w.server.Restart())
	w.put(a, hour, list(3, 2))
	assert.EqualValues(t, 2, news.Load())
	require.NoError(t, a.Close(context.Background()))
}
