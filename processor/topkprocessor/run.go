package topkprocessor

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// run is what a process stores of itself, so that the next one can count what it left.
type run struct {
	epoch wire.Epoch
	shard string
	clock window.Clock // as configured
	rules []ruleRun
}

// ruleRun is a rule of a run.
type ruleRun struct {
	definition *rule.Definition
	maxGroups  int
	floor      int64 // as of a ledger, when it was stored
}

// run of the counter as it stands.
func (c *counter) run() *run {
	r := &run{epoch: c.epoch, shard: c.shard, rules: make([]ruleRun, len(c.ledgers))}
	for i, l := range c.ledgers {
		r.clock = l.clock
		r.rules[i] = ruleRun{definition: l.definition, maxGroups: l.maxGroups, floor: l.floor.Load()}
	}
	return r
}

func (r *run) append(dst []byte) ([]byte, error) {
	dst = append(dst, r.epoch[:]...)
	dst = field.AppendText(dst, r.shard)
	dst = append(dst, oneIf(r.clock.Event))
	dst = binary.AppendUvarint(dst, uint64(r.clock.Lateness))
	dst = binary.AppendUvarint(dst, uint64(r.clock.Future))
	dst = binary.AppendUvarint(dst, uint64(len(r.rules)))
	for _, rr := range r.rules {
		definition, err := wire.EncodeDefinition(rr.definition)
		if err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		dst = field.AppendText(dst, definition)
		dst = binary.AppendUvarint(dst, uint64(rr.maxGroups))
		dst = binary.AppendVarint(dst, rr.floor)
	}
	return dst, nil
}

func readRun(r *field.Reader, bodies *wire.Bodies) *run {
	run := &run{}
	copy(run.epoch[:], r.Bytes(len(run.epoch)))
	run.shard = string(r.Text(math.MaxInt)) // it is cut where it travels
	run.clock.Event = r.Byte() != 0
	run.clock.Lateness = readDuration(r, maxLateness)
	run.clock.Future = readDuration(r, maxFuture)
	for range r.Count(3) {
		definition, err := bodies.Definition(r.Text(wire.MaxDefinitionBytes))
		maxGroups := r.Uint()
		if err != nil || maxGroups < 1 || maxGroups > rule.MaxGroups {
			r.Require(false)
			break
		}
		run.rules = append(run.rules, ruleRun{definition: definition, maxGroups: int(maxGroups), floor: r.Int()})
	}
	return run
}

func readDuration(r *field.Reader, most time.Duration) time.Duration {
	n := r.Uint()
	if n > uint64(most) {
		r.Require(false)
	}
	return time.Duration(min(n, math.MaxInt64))
}

func oneIf(set bool) byte {
	if set {
		return 1
	}
	return 0
}
