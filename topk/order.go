package topk

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// The one order of residents is estimate descending, key bytes ascending. Taken apart it is an order of numbers: digit 0 is the
// estimate, upside down, each further one seven bytes of the key and how many of them there are. Most residents differ
// in the first digit or two.

// ranked is a resident and the digit it is being ordered by.
type ranked struct {
	digit uint64
	slot  int
}

// order lists the residents in b, the pinned ones first.
func (t *table) order(b *scratch) (order []ranked, pinned int) {
	order = slices.Grow(b.order[:0], t.size)
	for i := range t.slots {
		order = append(order, ranked{slot: i})
		if t.cold[i].pinned {
			order[pinned], order[len(order)-1] = order[len(order)-1], order[pinned]
			pinned++
		}
	}
	b.order = order
	return order, pinned
}

func (t *table) digits(order []ranked, d int) {
	if d == 0 {
		for i := range order {
			order[i].digit = ^t.estimate(order[i].slot)
		}
		return
	}
	for i := range order {
		key := t.key(order[i].slot)
		key = key[min(7*(d-1), len(key)):]
		if len(key) >= 8 {
			order[i].digit = binary.BigEndian.Uint64(key)&^0xff | 7
			continue
		}
		var last [8]byte
		copy(last[:7], key)
		last[7] = byte(min(len(key), 7))
		order[i].digit = binary.BigEndian.Uint64(last[:])
	}
}

// lead moves the first n in order to the front, in expected time O(len): by a digit, and by the next only those that tie
// across n.
func (t *table) lead(order []ranked, n int) {
	for d := 0; 0 < n && n < len(order); d++ {
		t.digits(order, d)
		from, to := selectNth(order, n-1)
		order, n = order[from:to], n-from
	}
}

// sort puts them in order, from digit d on.
func (t *table) sort(order []ranked, d int) {
	t.digits(order, d)
	slices.SortFunc(order, byDigit)
	for from, to := 0, 0; from < len(order); from = to {
		for to = from + 1; to < len(order) && order[to].digit == order[from].digit; to++ {
		}
		if to > from+1 {
			t.sort(order[from:to], d+1)
		}
	}
}

func byDigit(a, b ranked) int { return cmp.Compare(a.digit, b.digit) }

// selectNth moves what a sort by digit would put at n there, smaller ones before and larger ones behind it, and returns the range
// of those that equal it. It is quickselect without a branch that depends on the data. The order of a table is by the seeded
// hash, so only one who knows the seed can arrange a slow input; after too many rounds a sort ends it.
func selectNth(a []ranked, n int) (from, to int) {
	from, to = 0, len(a)
	for rounds := 4 * bits.Len(uint(len(a))); rounds > 0; rounds-- {
		pivot := a[from+(to-from)/2].digit
		less := from
		for i := from; i < to; i++ {
			x := a[i]
			a[i], a[less] = a[less], x
			_, smaller := bits.Sub64(x.digit, pivot, 0)
			less += int(smaller)
		}
		if n < less {
			to = less
			continue
		}
		more := less
		for i := less; i < to; i++ {
			x := a[i]
			a[i], a[more] = a[more], x
			_, larger := bits.Sub64(pivot, x.digit, 0)
			more += 1 - int(larger)
		}
		if n < more {
			return less, more
		}
		from = more
	}
	slices.SortFunc(a[from:to], byDigit)
	for from = n; from > 0 && a[from-1].digit == a[n].digit; from-- {
	}
	for to = n + 1; to < len(a) && a[to].digit == a[n].digit; to++ {
	}
	return from, to
}
