package recount

import "encoding/binary"

// An arena holds entries of one table one after the other, in chunks without pointers: the garbage collector has nothing to do there.
// An entry begins at a multiple of entryAlign, which names it, so 32 bits reach 32 GiB of entries.
type arena struct {
	layout layout
	chunks [][]byte
	ends   []int // how much of each chunk is in use
	last   int   // the chunk that is being filled
}

const (
	chunkBytes = 128 << 10 // holds the longest entry
	entryAlign = 8
	chunkRefs  = chunkBytes / entryAlign
	maxChunks  = 1 << 32 / chunkRefs
)

// layout says where in an entry what is. Where all weigh 1 the records are the weight, and where there is one list all are in it.
type layout struct{ records, list, length, key int }

func newLayout(weighted, lists bool) layout {
	l := layout{list: 8}
	if weighted {
		l.records, l.list = 8, 16
	}
	l.length = l.list
	if lists {
		l.length += 4
	}
	l.key = l.length + 2
	return l
}

// size of an entry with a key of n bytes.
func (l *layout) size(n int) int { return (l.key + n + entryAlign - 1) &^ (entryAlign - 1) }

func (l *layout) keyOf(e []byte) []byte {
	return e[l.key : l.key+int(binary.LittleEndian.Uint16(e[l.length:]))]
}

func (l *layout) listOf(e []byte) uint32 {
	if l.list == l.length {
		return 0
	}
	return binary.LittleEndian.Uint32(e[l.list:])
}

func (l *layout) weightOf(e []byte) uint64  { return binary.LittleEndian.Uint64(e) }
func (l *layout) recordsOf(e []byte) uint64 { return binary.LittleEndian.Uint64(e[l.records:]) }

func (l *layout) add(e []byte, weight, records uint64) {
	binary.LittleEndian.PutUint64(e, l.weightOf(e)+weight)
	if l.records > 0 {
		binary.LittleEndian.PutUint64(e[l.records:], l.recordsOf(e)+records)
	}
}

// at is the entry that ref names, and what follows it.
func (a *arena) at(ref uint32) []byte {
	return a.chunks[ref/chunkRefs][ref%chunkRefs*entryAlign:]
}

// room says whether an entry of n bytes fits without another chunk.
func (a *arena) room(n int) bool {
	return a.last < len(a.chunks) && a.ends[a.last]+n <= chunkBytes || a.last+1 < len(a.chunks)
}

// grow adds a chunk.
func (a *arena) grow() {
	a.chunks, a.ends = append(a.chunks, make([]byte, chunkBytes)), append(a.ends, 0)
}

// put makes an entry of weight 0; there is room for it.
func (a *arena) put(list uint32, key string) uint32 {
	n := a.layout.size(len(key))
	if a.ends[a.last]+n > chunkBytes {
		a.last++
	}
	from := a.ends[a.last]
	e := a.chunks[a.last][from : from+n]
	clear(e)
	if a.layout.list != a.layout.length {
		binary.LittleEndian.PutUint32(e[a.layout.list:], list)
	}
	binary.LittleEndian.PutUint16(e[a.layout.length:], uint16(len(key)))
	copy(e[a.layout.key:], key)
	a.ends[a.last] = from + n
	return uint32(a.last*chunkRefs + from/entryAlign)
}

// all entries, in the order in which they came.
func (a *arena) all(yield func(ref uint32, e []byte) bool) {
	for c, chunk := range a.chunks {
		for at := 0; at < a.ends[c]; {
			e := chunk[at:]
			if !yield(uint32(c*chunkRefs+at/entryAlign), e) {
				return
			}
			at += a.layout.size(int(binary.LittleEndian.Uint16(e[a.layout.length:])))
		}
	}
}

// reset forgets the entries and keeps the chunks.
func (a *arena) reset() {
	clear(a.ends)
	a.last = 0
}
