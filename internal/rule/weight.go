package rule

import "math"

// MaxWeight is the most one record may weigh, after weight_scale: as far as a double counts one by one. A thousand such
// records fit into one summary, so no single broken value fills it.
const MaxWeight = 1 << 53

// scaled is w * scale rounded half up; ok is false where w is negative or not a number, or the result is above MaxWeight.
func scaled(w, scale float64) (_ uint64, ok bool) {
	if !(w >= 0) {
		return 0, false
	}
	r := math.Round(w * scale)
	if !(r <= MaxWeight) {
		return 0, false
	}
	return uint64(r), true
}

// scaledInt is scaled, exact where scale is 1.
func scaledInt(w int64, scale float64) (uint64, bool) {
	if scale == 1 {
		return uint64(w), w >= 0 && w <= MaxWeight
	}
	return scaled(float64(w), scale)
}

// weighValue makes a weight of what l finds; v is its memory.
func weighValue[C any](l lookup[C], scale float64) func(*C, *value) (uint64, reason) {
	return func(c *C, v *value) (w uint64, why reason) {
		l.find(c, v)
		ok := false
		switch v.kind {
		case integer:
			w, ok = scaledInt(int64(v.bits), scale)
		case double:
			w, ok = scaled(math.Float64frombits(v.bits), scale)
		case failed:
			return 0, failedExpression
		}
		if !ok {
			return 0, badWeight
		}
		return w, fits
	}
}

// weighSize makes a weight of a size in bytes.
func weighSize[C any](size func(*C) int, scale float64) func(*C, *value) (uint64, reason) {
	return func(c *C, _ *value) (uint64, reason) {
		w, ok := scaledInt(int64(size(c)), scale)
		if !ok {
			return 0, badWeight
		}
		return w, fits
	}
}
