package window

import "time"

// Size of a part in minutes.
type Size Minute

// The sizes of parts.
const (
	OneMinute   Size = 1
	FiveMinutes Size = 5
	OneHour     Size = 60
)

// Sizes of parts, the smallest first.
var Sizes = [...]Size{OneMinute, FiveMinutes, OneHour}

// Part is a span of minutes that is merged into one: Size minutes from Start, a multiple of Size.
type Part struct {
	Start Minute
	Size  Size
}

// PartOf is the part of a size that holds m.
func PartOf(m Minute, size Size) Part {
	return Part{Minute(floor(int64(m), int64(size))) * Minute(size), size}
}

// End is the first minute after the part.
func (p Part) End() Minute { return p.Start + Minute(p.Size) }

// Keep says how long parts of each size are kept, counted back from the end of the newest minute.
type Keep struct {
	Minutes, FiveMinutes, Hours time.Duration
}

// Kept says whether p is, as long as newest is the newest minute.
func (k Keep) Kept(p Part, newest Minute) bool {
	d := k.Hours
	switch p.Size {
	case OneMinute:
		d = k.Minutes
	case FiveMinutes:
		d = k.FiveMinutes
	}
	return p.Start > newest-Minute(d/Bucket)
}

// Start is the first minute of the window w that ends with the newest minute: on a minute as far as minutes are kept,
// then on the next edge of a 5-minute part, then of an hour.
func (k Keep) Start(w time.Duration, newest Minute) Minute {
	first := newest - Minute(w/Bucket) + 1
	for _, size := range Sizes {
		p := PartOf(first, size)
		if p.Start < first {
			p.Start = p.End()
		}
		if k.Kept(p, newest) {
			return p.Start
		}
	}
	return newest + 1
}

// Cover is the fewest parts that hold each minute from first to last once: where hours and five minutes fit, these.
func Cover(first, last Minute) []Part {
	var parts []Part
	for first <= last {
		p := Part{first, OneMinute}
		for _, size := range Sizes {
			if q := PartOf(first, size); q.Start == first && q.End() <= last+1 {
				p = q
			}
		}
		parts = append(parts, p)
		first = p.End()
	}
	return parts
}
