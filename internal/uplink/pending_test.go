package uplink

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// addFinal of rule "r".
func addFinal(p *Pending, size int, expires int64) {
	state := wire.State{Rule: &rule.Definition{Name: "r"}}
	p.Add(&Final{ID: p.Number(), State: state, Packed: make([]byte, size), Size: size, Expires: expires})
}

func ids(finals []*Final) []uint64 {
	var ids []uint64
	for _, f := range finals {
		ids = append(ids, f.ID)
	}
	return ids
}

func TestPendingDropsTheOldestBeyondItsLimit(t *testing.T) {
	p := NewPending(3*(1000+finalOverhead), make([]Gateway, 2), nil)
	for range 3 {
		addFinal(p, 1000, 10)
	}
	assert.Equal(t, []uint64{1, 2}, ids(p.take(0, 0, 2000)), "in flight to gateway 0")
	addFinal(p, 1000, 10)
	addFinal(p, 1000, 10)

	assert.Equal(t, []uint64{1, 2, 5}, ids(p.queues[0].finals), "those in flight stay")
	assert.Equal(t, []uint64{1, 2, 5}, ids(p.queues[1].finals), "to drop them would free nothing")
	assert.EqualValues(t, 2, p.Dropped.Of(0, "r"))
	assert.EqualValues(t, 2, p.Dropped.Of(1, "r"))

	p.settle(0, 1)
	assert.Equal(t, []uint64{2, 5}, ids(p.queues[0].finals))
	_, bytes := p.Count(0)
	assert.EqualValues(t, 3*(1000+finalOverhead), bytes)
}

func TestPendingKeepsInFlightWhateverTheLimit(t *testing.T) {
	p := NewPending(1, make([]Gateway, 1), nil)
	addFinal(p, 1000, 10)
	assert.Zero(t, len(p.take(0, 0, 10)), "no room for it at all")
	assert.EqualValues(t, 1, p.Dropped.Of(0, "r"))
	assert.Zero(t, p.bytes)
}

func TestPendingExpires(t *testing.T) {
	p := NewPending(1<<20, make([]Gateway, 1), nil)
	for i := range 4 {
		addFinal(p, 10, int64(i))
	}
	assert.Equal(t, []uint64{1}, ids(p.take(0, 0, 10)))
	p.Expire(2)
	assert.Equal(t, []uint64{1, 4}, ids(p.queues[0].finals))
	assert.EqualValues(t, 2, p.Dropped[0][DroppedRetain].Of("r"))
	p.settle(0, 1)
	lost, stored := p.Abandon(true)
	assert.Equal(t, 1, lost)
	assert.Zero(t, stored)
	assert.EqualValues(t, 1, p.Dropped[0][DroppedShutdown].Of("r"))
	assert.Zero(t, p.bytes)
}

func TestPendingHandsOutOneHoweverLarge(t *testing.T) {
	p := NewPending(1<<20, make([]Gateway, 1), nil)
	addFinal(p, 1000, 1)
	addFinal(p, 10, 1)
	assert.Equal(t, []uint64{1}, ids(p.take(0, 0, 500)))
	p.settle(0, 0)
	assert.Equal(t, []uint64{1, 2}, ids(p.take(0, 0, 1010)))
}
