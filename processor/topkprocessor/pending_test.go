package topkprocessor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func finalOf(size int, expires int64) *final {
	return &final{packed: make([]byte, size), size: size, expires: expires}
}

func ids(finals []*final) []uint64 {
	var ids []uint64
	for _, f := range finals {
		ids = append(ids, f.id)
	}
	return ids
}

func TestPendingDropsTheOldestBeyondItsLimit(t *testing.T) {
	p := newPending(3*(1000+finalOverhead), 2, 1)
	for range 3 {
		p.add(finalOf(1000, 10))
	}
	assert.Equal(t, []uint64{1, 2}, ids(p.take(0, 2000)), "in flight to gateway 0")
	p.add(finalOf(1000, 10))
	p.add(finalOf(1000, 10))

	assert.Equal(t, []uint64{1, 2, 5}, ids(p.queues[0].finals), "those in flight stay")
	assert.Equal(t, []uint64{1, 2, 5}, ids(p.queues[1].finals), "to drop them would free nothing")
	assert.EqualValues(t, 2, p.dropped.of(0, 0))
	assert.EqualValues(t, 2, p.dropped.of(1, 0))

	p.settle(0, 1)
	assert.Equal(t, []uint64{2, 5}, ids(p.queues[0].finals))
	_, bytes := p.count(0)
	assert.EqualValues(t, 3*(1000+finalOverhead), bytes)
}

func TestPendingKeepsInFlightWhateverTheLimit(t *testing.T) {
	p := newPending(1, 1, 1)
	p.add(finalOf(1000, 10))
	assert.Zero(t, len(p.take(0, 10)), "no room for it at all")
	assert.EqualValues(t, 1, p.dropped.of(0, 0))
	assert.Zero(t, p.bytes)
}

func TestPendingExpires(t *testing.T) {
	p := newPending(1<<20, 1, 1)
	for i := range 4 {
		p.add(finalOf(10, int64(i)))
	}
	assert.Equal(t, []uint64{1}, ids(p.take(0, 10)))
	p.expire(2)
	assert.Equal(t, []uint64{1, 4}, ids(p.queues[0].finals))
	assert.EqualValues(t, 2, p.dropped[0][0][droppedRetain].Load())
	p.settle(0, 1)
	assert.Equal(t, 1, p.abandon())
	assert.EqualValues(t, 1, p.dropped[0][0][droppedShutdown].Load())
	assert.Zero(t, p.bytes)
}

func TestPendingHandsOutOneHoweverLarge(t *testing.T) {
	p := newPending(1<<20, 1, 1)
	p.add(finalOf(1000, 1))
	p.add(finalOf(10, 1))
	assert.Equal(t, []uint64{1}, ids(p.take(0, 500)))
	p.settle(0, 0)
	assert.Equal(t, []uint64{1, 2}, ids(p.take(0, 1010)))
}
