package topkprocessor

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

const (
	entryVersion = 1

	// maxEntry is the bytes after which what a request holds goes on in another entry: with each entry the storage writes up to
	// four neighbours again.
	maxEntry = 8 << 10

	// Flags of a column.
	withWeights = 1
	withGroups  = 2
)

// entry is what was found in a request, or in a part of it, as the journal keeps it: some records of some rules.
type entry struct {
	b      []byte
	begun  int // bytes without records
	keys   texts
	groups texts
}

// begin an entry of the process of an epoch, whose records are judged by the wall clock now.
func (e *entry) begin(epoch wire.Epoch, now int64) {
	e.b = append(e.b[:0], entryVersion)
	e.b = append(e.b, epoch[:]...)
	e.b = binary.LittleEndian.AppendUint64(e.b, uint64(now))
	e.begun = len(e.b)
}

func (e *entry) empty() bool { return len(e.b) == e.begun }

func (e *entry) full() bool { return len(e.b) >= maxEntry }

// append what a rule found, from the record at from on until the entry is full, and say where the next one begins.
func (e *entry) append(index int, b *rule.Batch, from int, now int64) (next int) {
	flags := byte(0)
	if b.Weights != nil {
		flags |= withWeights
	}
	if b.Groups != nil {
		flags |= withGroups
	}
	e.b = binary.AppendUvarint(e.b, uint64(index))
	e.b = append(e.b, flags)
	count := len(e.b)
	e.b = append(e.b, 0, 0, 0, 0)
	e.keys.begin()
	e.groups.begin()
	last := now
	for next = from; next < len(b.Keys) && (next == from || !e.full()); next++ {
		e.b = binary.AppendVarint(e.b, b.Times[next]-last)
		last = b.Times[next]
		e.b = e.keys.append(e.b, b.Keys[next])
		if b.Weights != nil {
			e.b = binary.AppendUvarint(e.b, b.Weights[next])
		}
		if b.Groups != nil {
			e.b = append(e.b, byte(b.Groups[next].Scope))
			e.b = e.groups.append(e.b, b.Groups[next].Name)
		}
	}
	binary.LittleEndian.PutUint32(e.b[count:], uint32(next-from))
	return next
}

// texts of a column: most of those that come again are written as a reference.
type texts struct {
	first, next uint64 // numbers of texts
	slots       [1 << 9]textSlot
}

// textSlot says where a text lies that was written.
type textSlot struct {
	number   uint64
	at, size uint32
}

// begin a column; what was written before is forgotten.
func (t *texts) begin() {
	t.next++
	t.first = t.next
}

func (t *texts) append(b []byte, text string) []byte {
	s := &t.slots[xxh3.HashString(text)%uint64(len(t.slots))]
	if s.number >= t.first && string(b[s.at:s.at+s.size]) == text {
		return binary.AppendUvarint(b, (s.number-t.first)<<1|1)
	}
	b = binary.AppendUvarint(b, uint64(len(text))<<1)
	*s = textSlot{number: t.next, at: uint32(len(b)), size: uint32(len(text))}
	t.next++
	return append(b, text...)
}

// column is the records of one rule in an entry.
type column struct {
	rule  int // its index
	batch rule.Batch
}

// readEntry returns the process that wrote an entry, the wall clock by which records are judged, and the records.
func readEntry(b []byte) (epoch wire.Epoch, now int64, columns []*column, err error) {
	r := field.New(b)
	r.Version(entryVersion)
	copy(epoch[:], r.Bytes(len(epoch)))
	now = int64(r.Fixed64())
	for len(r.Rest()) > 0 {
		columns = append(columns, readColumn(r, now))
	}
	return epoch, now, columns, whole(r)
}

func readColumn(r *field.Reader, now int64) *column {
	c := &column{rule: int(min(r.Uint(), wire.MaxReportRules))}
	flags := r.Byte()
	n := int(r.Fixed32())
	if flags&^(withWeights|withGroups) != 0 || n < 1 || n > len(r.Rest())/2 {
		r.Require(false)
		return c
	}
	c.batch.Times, c.batch.Keys = make([]int64, n), make([]string, n)
	if flags&withWeights != 0 {
		c.batch.Weights = make([]uint64, n)
	}
	if flags&withGroups != 0 {
		c.batch.Groups = make([]rule.Group, n)
	}
	var keys, names []string
	last := now
	for i := range n {
		last += r.Int()
		c.batch.Times[i] = last
		c.batch.Keys[i] = readText(r, &keys)
		if c.batch.Weights != nil {
			c.batch.Weights[i] = r.Uint()
		}
		if c.batch.Groups != nil {
			c.batch.Groups[i] = readGroup(r, &names)
		}
	}
	return c
}

// readText that follows, or is one of those before.
func readText(r *field.Reader, before *[]string) string {
	n := r.Uint()
	if at := n >> 1; n&1 != 0 {
		if at >= uint64(len(*before)) {
			r.Require(false)
			return ""
		}
		return (*before)[at]
	}
	text := string(r.Bytes(int(min(n>>1, topk.MaxKeyBytes+1))))
	*before = append(*before, text)
	return text
}

func readGroup(r *field.Reader, before *[]string) rule.Group {
	g := rule.Group{Scope: rule.Scope(r.Byte()), Name: readText(r, before)}
	if g.Scope != rule.ScopeGroup && (g.Scope != rule.ScopeMissing || g.Name != "") {
		r.Require(false)
	}
	return g
}
