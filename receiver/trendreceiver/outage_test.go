package trendreceiver

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// finalOf is the final state of the minute of now.
func (s *shard) finalOf(now time.Time, weights map[string]uint64) *wire.State {
	st := s.state(now, rule.Group{}, weights)
	st.Final = true
	return st
}

func TestFinalsThatComeLateAfterARestartAreFoldedOnce(t *testing.T) {
	l, w := newLives(t), newWall(t)
	g := l.start(w)
	minute := l.now()
	one, two := newShard(t, 1), newShard(t, 2)
	early := one.finalOf(minute, map[string]uint64{"a": 3})
	require.NoError(t, g.send(one.request(early)))
	require.NoError(t, g.send(two.request(two.state(minute, rule.Group{}, map[string]uint64{"a": 1}))))
	l.pass(3 * time.Minute)
	w.until(func() bool { return g.metric("folded") == 1 }, "the complete one is folded")
	g.kill()
	g.bury()

	g = l.start(w)
	late := two.finalOf(minute, map[string]uint64{"a": 2, "b": 4})
	for range 3 {
		require.NoError(t, g.send(one.request(early)), "a repeat")
		require.NoError(t, g.send(two.request(late)))
		l.pass(30 * time.Second)
	}
	w.until(func() bool { return g.metric("folded") == 1 }, "the late one is folded")
	w.until(func() bool { return hourOf(w).Total == 9 }, "each counts once")
	g.kill()
	g.bury()

	g = l.start(w)
	require.NoError(t, g.send(two.request(late)))
	require.NoError(t, g.send(one.request(one.state(l.now(), rule.Group{}, map[string]uint64{"c": 1}))))
	w.until(func() bool { return hourOf(w).Total == 10 }, "nothing counts twice")
}

func TestWhatWasNotAnsweredBeforeAKillCountsWhenItComesAgain(t *testing.T) {
	l, w := newLives(t), newWall(t)
	g := l.start(w)
	s := newShard(t, 1)
	require.NoError(t, g.send(s.request(s.state(l.now(), rule.Group{}, map[string]uint64{"a": 1}))))
	l.disk.fail(errors.New("no space left on device"))
	open := s.request(s.state(l.now(), rule.Group{}, map[string]uint64{"a": 5}))
	require.Equal(t, codes.Unavailable, status.Code(g.send(open)))
	w.until(func() bool { return hourOf(w).Total == 5 }, "it is seen")
	g.kill()
	g.bury()

	l.disk.fail(nil)
	after := newWall(t)
	g = l.start(after)
	after.until(func() bool { return hourOf(after).Total == 1 }, "what was answered is there")
	require.NoError(t, g.send(open))
	after.until(func() bool { return hourOf(after).Total == 5 }, "and the rest when it comes again")
}

func TestADiskThatIsFullForLongLosesNothingOnceItIsNot(t *testing.T) {
	l, w := newLives(t), newWall(t)
	g := l.start(w)
	s := newShard(t, 1)
	l.disk.fail(errors.New("no space left on device"))
	var unanswered []*wire.State
	for range 30 {
		unanswered = append(unanswered, s.finalOf(l.now(), map[string]uint64{"a": 1}))
		require.Error(t, g.send(s.request(unanswered...)))
		l.pass(time.Minute)
	}
	w.until(func() bool { return hourOf(w).Total == 30 }, "all is counted")
	l.disk.fail(nil)
	g.deliver(s.request(unanswered...))
	g.kill()
	g.bury()

	after := newWall(t)
	g = l.start(after)
	after.until(func() bool { return hourOf(after).Total == 30 }, "all is stored")
	require.NoError(t, g.send(s.request(unanswered...)))
	g.publication()
	assert.EqualValues(t, 30, hourOf(after).Total)
}

// hourOf is the global list of the last hour.
func hourOf(w *wall) *wire.Snapshot {
	if s := w.shown()[series{"tenants", time.Hour, rule.Group{}}]; s != nil {
		return s
	}
	return &wire.Snapshot{}
}

func TestAClockThatJumpsByAnHourAndBackCountsNothingTwiceAndLosesNothing(t *testing.T) {
	for name, jump := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			l, w := newLives(t), newWall(t)
			l.change = func(c *Config) { c.Retain = 65 * time.Minute } // a part of what comes before the jump is too late after it
			g := l.start(w)
			s, exact := newShard(t, 1), uint64(0)
			var sent []*wire.State
			repeat := func() { _ = g.send(s.request(sent...)) } // what is too late then is refused
			minutes := func(n int, of time.Duration) {          // the shard's clock does not jump
				for range n {
					final := s.finalOf(l.now().Add(-of), map[string]uint64{"a": 1, "b": uint64(len(sent))})
					sent, exact = append(sent, final), exact+1+uint64(len(sent))
					require.NoError(t, g.send(s.request(final)))
					l.pass(time.Minute)
				}
			}
			minutes(10, 0)
			w.until(func() bool { return hourOf(w).Total == exact }, "before the jump")
			l.pass(jump)
			minutes(5, jump)
			g.publication()
			repeat()
			g.publication()
			g.kill()
			g.bury()

			w = newWall(t) // its window stands at another time
			g = l.start(w)
			minutes(2, jump)
			l.pass(-jump)
			w = newWall(t)
			repeat()
			g.kill()
			g.bury()
			g = l.start(w)
			minutes(3, 0)
			w.until(func() bool { return hourOf(w).Total >= exact }, "all is there")
			g.publication()
			assert.Equal(t, exact, hourOf(w).Total)
		})
	}
}
