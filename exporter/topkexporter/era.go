package topkexporter

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	hourPrefix   = "hour/"   // indexes of hours
	rollupPrefix = "rollup/" // values
)

// era is what one definition counted under a rule's name.
type era struct {
	definition  *rule.Definition // as its newest hour has it
	fingerprint string
	id          string // in keys
	groups      groupTable
	hours       []*hour // ascending
}

func newEra(d *rule.Definition) *era {
	fingerprint := d.Fingerprint()
	return &era{definition: d, fingerprint: fingerprint, id: digest(field.AppendText(field.AppendText(nil, d.Name), fingerprint))}
}

func (e *era) hourKey(start window.Minute) string {
	return hourPrefix + e.id + "/" + strconv.FormatInt(int64(start/oneHour), 10)
}

func (e *era) rollupKey(start window.Minute, slot uint32) string {
	return rollupPrefix + e.id + "/" + strconv.FormatInt(int64(start/oneHour), 10) + "/" + strconv.FormatUint(uint64(slot), 10)
}

// place is where the first hour stands that does not begin before start.
func (e *era) place(start window.Minute) (i int, found bool) {
	return slices.BinarySearchFunc(e.hours, start, func(at *hour, start window.Minute) int { return cmp.Compare(at.start, start) })
}

// at is the hour that begins at start, nil if there is none.
func (e *era) at(start window.Minute) *hour {
	if i, found := e.place(start); found {
		return e.hours[i]
	}
	return nil
}

// hour finds or adds the hour that begins at start.
func (e *era) hour(start window.Minute, now time.Time) *hour {
	i, found := e.place(start)
	if !found {
		e.hours = slices.Insert(e.hours, i, &hour{start: start, received: now})
	}
	return e.hours[i]
}

// last is the newest hour; an era has one at least.
func (e *era) last() *hour { return e.hours[len(e.hours)-1] }

// within are the hours of a span.
func (e *era) within(s span) []*hour {
	from, _ := e.place(s.from)
	to, _ := e.place(s.to)
	return e.hours[from:to]
}

// knows says whether what is kept is as good as r: newer, or the same, as gateways repeat hours in turn. An hour that a gateway
// saw from its beginning is not replaced by one who did not, as it has lost its memory since.
func (e *era) knows(r *wire.Rollup) bool {
	at := e.at(r.Hour)
	if at == nil {
		return false
	}
	if slices.Contains(r.PartialReasons, reasonShort) && !slices.Contains(at.reasons, reasonShort) {
		return true
	}
	known := at.find(e, r.Group)
	switch asOf := r.AsOf.UnixNano(); {
	case known == nil:
		return false
	case asOf <= known.asOf:
		return true
	case known.hash == xxh3.Hash(r.Encoded) && at.says(r.PartialReasons):
		known.asOf, at.reasonedAt = asOf, max(at.reasonedAt, asOf)
		return true
	}
	return false
}

// groupTable numbers the groups of an era as long as an hour holds them.
type groupTable struct {
	numbers map[rule.Group]uint32
	groups  []rule.Group
	uses    []int
	free    []uint32
}

// use is the number of g, which one more entry has.
func (t *groupTable) use(g rule.Group) uint32 {
	n, known := t.numbers[g]
	switch {
	case known:
	case len(t.free) > 0:
		n, t.free = t.free[len(t.free)-1], t.free[:len(t.free)-1]
		t.groups[n] = g
	default:
		n = uint32(len(t.groups))
		t.groups, t.uses = append(t.groups, g), append(t.uses, 0)
	}
	if t.numbers == nil {
		t.numbers = map[rule.Group]uint32{}
	}
	t.numbers[g] = n
	t.uses[n]++
	return n
}

// release a number that one entry less has.
func (t *groupTable) release(n uint32) {
	if t.uses[n]--; t.uses[n] == 0 {
		delete(t.numbers, t.groups[n])
		t.groups[n] = rule.Group{}
		t.free = append(t.free, n)
	}
}
