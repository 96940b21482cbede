package board

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// The law of ascent. What is live of a minute goes up as the open states of one set, and what is folded of it at one time as its
// final states: a set is named by how often the minute was folded before. So the gateway above moves whole sets into its parts as
// this one does, late states go up in a set of their own, and nothing is ever subtracted.

// Ascent makes a board a shard of other gateways.
type Ascent struct {
	Sender     wire.Epoch // of this gateway, as long as its Shelf lives
	Shard      string
	ReplicaSet string // "": none; of gateways that are fed by the same shards, one name

	// Final is called in Publish with what was folded, to be sent once it is durable and until it is settled. A Pause may follow
	// each call.
	Final func(*wire.State)
}

// rising is what is live of a group in a minute as it goes up.
type rising struct {
	fresh    bool
	sequence uint64
	encoded  []byte
}

// What the keys of values begin with that only a board with an Ascent keeps.
const (
	risePrefix = "rise/"
	toldPrefix = "told/"

	sequencePrefix = "sequence/"
	sequenceKey    = sequencePrefix + "reserved"
)

// reserved is how many sequences, which follow the clock in nanoseconds, are set aside at once: the board after this one begins
// with those that come then, also when the clock was set back.
const reserved = uint64(time.Hour)

// riseKey of a final state that was not answered by all gateways above.
func riseKey(s *wire.State) string {
	return risePrefix + hex.EncodeToString(s.Epoch[:]) + "/" + groupText(s.Group)
}

// setOf names the set that m makes when it is folded next.
func (b *Board) setOf(c *counted, at window.Minute, m *minute) wire.Epoch {
	h := sha256.New()
	h.Write(b.cfg.Ascent.Sender[:])
	h.Write([]byte(c.id))
	var n [16]byte
	binary.LittleEndian.PutUint64(n[:8], uint64(at))
	binary.LittleEndian.PutUint64(n[8:], m.folds)
	h.Write(n[:])
	return wire.Epoch(h.Sum(nil)[:len(wire.Epoch{})])
}

// rise makes final states of what is folded; not of what is folded as nothing more is taken of its minute: the gateway above folds
// the last open states itself then.
func (b *Board) rise(c *counted, out []*folding) (all []*wire.State) {
	if b.cfg.Ascent == nil {
		return nil
	}
	for _, f := range out {
		if f.over {
			continue
		}
		id := b.setOf(c, f.at, f.from)
		for _, g := range sorted(f.cells) {
			if encoded := b.encodeLive(c, f.minute, g, nil); encoded != nil {
				s := b.ascending(c, f.at, f.minute, g, id, encoded)
				s.Final = true
				all = append(all, s)
			}
			b.pause()
		}
		f.rose = true
	}
	return all
}

// keepRisen stores final states together with the fold that made them, and returns those that may go up.
func (b *Board) keepRisen(out []*folding, all []*wire.State) []*wire.State {
	for _, f := range out {
		if f.rose {
			f.from.folds++
		}
	}
	return slices.DeleteFunc(all, func(s *wire.State) bool {
		body, err := wire.EncodeState(s)
		if err != nil { // merged, it is larger than a state may be
			b.stats.Oversized++
			if told := b.toldOf(s.Rule.Name); told != nil {
				told.Dropped = saturated(told.Dropped, 1)
				b.storeTold(told)
			}
			return true
		}
		if b.cfg.Shelf != nil {
			b.cfg.Shelf.Set(riseKey(s), append([]byte{valueVersion}, body...))
		}
		return false
	})
}

// handUp final states, which are stored.
func (b *Board) handUp(all []*wire.State) {
	for _, s := range all {
		b.cfg.Ascent.Final(s)
		b.pause()
	}
}

// encodeLive appends what m holds of g, with its bounds, to dst.
func (b *Board) encodeLive(c *counted, m *minute, g rule.Group, dst []byte) []byte {
	sum := b.sums.take(c, g)
	b.addLive(sum, c, m, g)
	encoded, err := sum.AppendBinary(dst)
	if err != nil {
		b.stats.Unmerged++
		return nil
	}
	return encoded
}

func (b *Board) ascending(c *counted, at window.Minute, m *minute, g rule.Group, id wire.Epoch, encoded []byte) *wire.State {
	a := b.cfg.Ascent
	b.sequence++
	s := &wire.State{
		Epoch: id, Sender: a.Sender, ReplicaSet: a.ReplicaSet, Shard: a.Shard, Sequence: b.sequence,
		Rule: c.rule, Minute: at, Group: g, Groups: len(m.cells), Encoded: encoded,
	}
	for _, st := range m.cells[g].states {
		s.Newest = max(s.Newest, st.newest)
	}
	return s
}

// Open are the states of what is live, at now, in the order of their minutes. The sequence of one that did not change since the
// last call is the same as then. A state's Encoded is good until the group changes; what Open is called for has to hold it no longer
// than until it is called again. Accept and Report may be called in a Pause of it, and Publish may not. Where what is live does not
// fit into half of the room for states, the oldest does not go up until it is final.
func (b *Board) Open(now int64) (all []*wire.State) {
	if b.cfg.Ascent == nil {
		return nil
	}
	b.sequence = max(b.sequence, uint64(max(now, 0)))
	room := hardLimit / 2 * b.cfg.MaxLiveBytes
	for _, o := range b.openMinutes() {
		all = b.openOf(o, all, &room)
	}
	slices.SortStableFunc(all, func(x, y *wire.State) int { return cmp.Compare(x.Minute, y.Minute) })
	if b.cfg.Shelf != nil && b.sequence >= b.beyond {
		b.beyond = b.sequence + reserved
		b.cfg.Shelf.Set(sequenceKey, binary.AppendUvarint([]byte{valueVersion}, b.beyond))
	}
	return all
}

// openMinute is a minute of which something is live.
type openMinute struct {
	of *counted
	at window.Minute
	*minute
}

// openMinutes, the newest first.
func (b *Board) openMinutes() (all []openMinute) {
	for _, r := range b.rules {
		for _, c := range r.definitions {
			for at, m := range c.minutes {
				if c.awake() && len(m.cells) > 0 {
					all = append(all, openMinute{c, at, m})
				}
			}
		}
	}
	slices.SortFunc(all, func(x, y openMinute) int { return cmp.Or(cmp.Compare(y.at, x.at), cmp.Compare(x.of.id, y.of.id)) })
	return all
}

func (b *Board) openOf(o openMinute, all []*wire.State, room *int64) []*wire.State {
	id := b.setOf(o.of, o.at, o.minute)
	for _, g := range sorted(o.cells) {
		cell := o.cells[g]
		if cell == nil {
			continue // it was superseded in a pause
		}
		if !cell.rising.fresh {
			cell.rising.encoded = b.encodeLive(o.of, o.minute, g, nil)
			b.sequence++
			cell.rising.fresh, cell.rising.sequence = true, b.sequence
		}
		if cell.rising.encoded == nil {
			continue // it is counted
		}
		if *room -= int64(risingBytes + len(g.Name) + len(cell.rising.encoded)); *room < 0 {
			cell.rising = rising{}
			b.stats.HeldBack++
			continue
		}
		s := b.ascending(o.of, o.at, o.minute, g, id, cell.rising.encoded)
		s.Sequence = cell.rising.sequence
		all = append(all, s)
		b.pause()
	}
	return all
}

// Settle a final state that no gateway above waits for any more.
func (b *Board) Settle(s *wire.State) { b.remove(riseKey(s)) }

// Unsettled are the final states that the board before was not told of that they are settled, after Restore.
func (b *Board) Unsettled() []*wire.State {
	out := b.unsettled
	b.unsettled = nil
	slices.SortFunc(out, func(x, y *wire.State) int { return cmp.Compare(x.Sequence, y.Sequence) })
	return out
}

// Through are this gateway and those whose states are in its own.
func (b *Board) Through() []wire.Epoch {
	all := map[wire.Epoch]bool{b.cfg.Ascent.Sender: true}
	for _, e := range b.epochs {
		if e.gone || !slices.ContainsFunc(e.reports, func(p *reported) bool { return p.fingerprint != "" }) {
			continue // nothing of it is here
		}
		for _, id := range e.through {
			all[id] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(x, y wire.Epoch) int { return bytes.Compare(x[:], y[:]) })
}

// noteLoop keeps the states of a sender out until its wiring is mended. Where there are too many such, another one is forgotten, of
// which a report comes again before its next states do.
func (b *Board) noteLoop(sender wire.Epoch) {
	if b.looped == nil {
		b.looped = map[wire.Epoch]bool{}
	}
	b.looped[sender] = true
	for id := range b.looped {
		if len(b.looped) <= wire.MaxThrough {
			return
		}
		if id != sender {
			delete(b.looped, id)
		}
	}
}

// admitThrough refuses the report of a gateway whose states hold those of this one: they would count again.
func (b *Board) admitThrough(r *wire.Report) error {
	if len(r.Through) == 0 {
		return nil
	}
	if a := b.cfg.Ascent; a != nil && slices.Contains(r.Through, a.Sender) {
		b.noteLoop(r.Epoch)
		b.stats.Looped++
		return ErrLoop
	}
	delete(b.looped, r.Epoch)
	if b.cfg.Ascent == nil {
		return nil
	}
	known := b.Through()
	n := len(known)
	for _, id := range r.Through {
		if !slices.Contains(known, id) {
			n++
		}
	}
	if n > wire.MaxThrough {
		b.stats.Overloaded++
		return fmt.Errorf("%w: states of %d gateways would be in those of this one, at most %d may be", ErrOverloaded, n, wire.MaxThrough)
	}
	return nil
}
