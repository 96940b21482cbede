package topk

import (
	"math"
	"slices"
)

// tail is a Count-Min sketch with conservative update (Estan and Varghese 2002) of the keys that are not resident, and the
// HyperLogLog registers of the keys that went through it. No cell is larger than theta, so nothing is checked for overflow
// while counting: wide replaces narrow when theta passes 32 bits.
type tail struct {
	narrow []uint32
	wide   []uint64
	seen   registers
}

type cell interface{ uint32 | uint64 }

// rowMul are the first outputs of SplitMix64 from state 0, made odd. Row r multiplies one half of the identity, in turn: rows
// of the form a + i*b share too much.
var rowMul = [MaxDepth]uint64{
	0xe220a8397b1dcdaf, 0x6e789e6aa1b965f5, 0x06c45d188009454f, 0xf88bb8a8724c81ed,
	0x1b39896a51a8749b, 0x53cb9f0c747ea2eb, 0x2c829abe1f4532e1, 0xc584133ac916ab3d,
	0x3ee5789041c98ac3, 0xf3b8488c368cb0a7, 0x657eecdd3cb13d09, 0xc2d326e0055bdef7,
	0x8621a03fe0bbdb7b, 0x8e1f7555983aa92f, 0xb54e0f1600cc4d19, 0x84bb3f97971d80ab,
}

// at is the cell of k in row r.
func (s *Summary) at(k identity, r int) uint64 {
	half := k.place
	if r&1 == 1 {
		half = k.id
	}
	width := uint64(s.shape.Width)
	return (half*rowMul[r]>>32)*width>>32 + uint64(r)*width
}

func (s *Summary) ensureTail() {
	if s.tail != nil {
		return
	}
	if s.tail, s.spare = s.spare, nil; s.tail != nil {
		clear(s.tail.narrow)
		clear(s.tail.wide)
		s.tail.seen = registers{}
		return
	}
	s.tail = &tail{narrow: make([]uint32, s.shape.cells())}
}

// setTheta sets theta, and widens the cells if they could not hold it.
func (s *Summary) setTheta(theta uint64) {
	s.theta = theta
	if t := s.tail; theta > math.MaxUint32 && t.wide == nil {
		t.wide = make([]uint64, len(t.narrow))
		for i, c := range t.narrow {
			t.wide[i] = uint64(c)
		}
		t.narrow = nil
	}
}

// keep counts a key that is not resident in the tail, while it may be small: e = min(cells) + w, and if e <= theta the cells rise
// to e. base is min(cells) of before.
func (s *Summary) keep(k identity, w uint64) (base uint64, kept bool) {
	if w == 0 {
		return 0, true
	}
	if base = s.least(k); s.tail == nil || base+w > s.theta {
		return base, false
	}
	s.raise(k, base+w)
	s.tail.seen.touch(k.id)
	return base, true
}

// least is min(cells) of k: it bounds a key that is not resident. 0 while the summary is exact.
func (s *Summary) least(k identity) uint64 {
	if c := s.fiveCells(); c != nil {
		i0, i1, i2, i3, i4 := five(k, uint64(s.shape.Width))
		return uint64(min(c[i0], c[i1], c[i2], c[i3], c[i4]))
	}
	if s.tail == nil {
		return 0
	}
	e := uint64(math.MaxUint64)
	for r := range s.shape.Depth {
		if i, t := s.at(k, r), s.tail; t.narrow != nil {
			e = min(e, uint64(t.narrow[i]))
		} else {
			e = min(e, t.wide[i])
		}
	}
	return e
}

// raise lifts the cells of k to at least v; v <= theta.
func (s *Summary) raise(k identity, v uint64) {
	if c := s.fiveCells(); c != nil {
		i0, i1, i2, i3, i4 := five(k, uint64(s.shape.Width))
		e := uint32(v)
		c[i0], c[i1], c[i2], c[i3], c[i4] = max(c[i0], e), max(c[i1], e), max(c[i2], e), max(c[i3], e), max(c[i4], e)
		return
	}
	for r := range s.shape.Depth {
		if i, t := s.at(k, r), s.tail; t.narrow != nil {
			t.narrow[i] = max(t.narrow[i], uint32(v))
		} else {
			t.wide[i] = max(t.wide[i], v)
		}
	}
}

// fiveCells are the cells if they are five rows of 32 bits, as they nearly always are, else nil: these are read at once.
func (s *Summary) fiveCells() []uint32 {
	if s.shape.Depth != 5 || s.tail == nil {
		return nil
	}
	return s.tail.narrow
}

// five is at of rows 0 to 4.
func five(k identity, width uint64) (i0, i1, i2, i3, i4 uint64) {
	return (k.place * rowMul[0] >> 32) * width >> 32,
		(k.id*rowMul[1]>>32)*width>>32 + width,
		(k.place*rowMul[2]>>32)*width>>32 + 2*width,
		(k.id*rowMul[3]>>32)*width>>32 + 3*width,
		(k.place*rowMul[4]>>32)*width>>32 + 4*width
}

// addTail adds the cells, theta and registers of o.
func (s *Summary) addTail(o *Summary) {
	if o.tail == nil {
		return
	}
	s.ensureTail()
	s.setTheta(s.theta + o.theta)
	switch t, u := s.tail, o.tail; {
	case t.narrow != nil && u.narrow != nil:
		addCells(t.narrow, u.narrow)
	case t.narrow != nil: // of o, since tightened
		addCells(t.narrow, u.wide)
	case u.narrow != nil:
		addCells(t.wide, u.narrow)
	default:
		addCells(t.wide, u.wide)
	}
	s.tail.seen.merge(&o.tail.seen)
}

func addCells[A, B cell](a []A, b []B) {
	b = b[:len(a)]
	for i := range a {
		a[i] += A(b[i])
	}
}

// Tighten lowers theta to the smallest row maximum and the cells to theta: a key that is not resident has a cell in each row,
// so the largest cell of any one row bounds them all. It takes about 10 us; call it before a merged window is read.
func (s *Summary) Tighten() {
	switch t := s.tail; {
	case t == nil:
	case t.narrow != nil:
		s.theta = tighten(t.narrow, s.shape.Width, s.theta)
	default:
		s.theta = tighten(t.wide, s.shape.Width, s.theta)
	}
}

func tighten[C cell](cells []C, width int, theta uint64) uint64 {
	least := theta
	for row := range slices.Chunk(cells, width) {
		least = min(least, uint64(slices.Max(row)))
	}
	if least < theta {
		for i, c := range cells {
			cells[i] = min(c, C(least))
		}
	}
	return least
}

func (t *tail) clone() *tail {
	if t == nil {
		return nil
	}
	return &tail{narrow: slices.Clone(t.narrow), wide: slices.Clone(t.wide), seen: t.seen}
}
