package topk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// ranked is a resident in the one order: estimate descending, key bytes ascending.
type ranked struct {
	estimate uint64
	prefix   uint64 // of the key: its first eight bytes, big endian
	slot     int
}

// order appends the residents to b, but for pinned ones if told so. Prefixes are for later: most are never compared.
func (t *table) order(b []ranked, pinned bool) []ranked {
	b = slices.Grow(b, t.size)
	for i := range t.slots {
		if pinned || !t.cold[i].pinned {
			b = append(b, ranked{estimate: t.estimate(i), slot: i})
		}
	}
	return b
}

// lead moves the first n in order to the front, in expected time O(len): by estimate, and by key only those that tie there.
func (t *table) lead(order []ranked, n int) {
	if n <= 0 || n >= len(order) {
		return
	}
	selectNth(order, n-1, byEstimate)
	cut := order[n-1].estimate
	from, to := n-1, n
	for i := n - 2; i >= 0; i-- {
		if order[i].estimate == cut {
			from--
			order[i], order[from] = order[from], order[i]
		}
	}
	for i := n; i < len(order); i++ {
		if order[i].estimate == cut {
			order[i], order[to] = order[to], order[i]
			to++
		}
	}
	if to == n {
		return
	}
	tied := order[from:to]
	t.prefixes(tied)
	selectNth(tied, n-1-from, t.byKey)
}

// sort puts them in order.
func (t *table) sort(order []ranked) {
	t.prefixes(order)
	slices.SortFunc(order, t.compare)
}

func (t *table) prefixes(order []ranked) {
	for i := range order {
		key := t.key(order[i].slot)
		if len(key) < 8 {
			var padded [8]byte
			copy(padded[:], key)
			key = padded[:]
		}
		order[i].prefix = binary.BigEndian.Uint64(key)
	}
}

func byEstimate(a, b ranked) int { return cmp.Compare(b.estimate, a.estimate) }

func (t *table) byKey(a, b ranked) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return bytes.Compare(t.key(a.slot), t.key(b.slot))
}

func (t *table) compare(a, b ranked) int {
	if a.estimate != b.estimate {
		return byEstimate(a, b)
	}
	return t.byKey(a, b)
}

// selectNth moves what a sort would put at n there, and what comes before it to its left: Hoare's selection. The order of a
// table is by the seeded hash, so only one who knows the seed can arrange a slow input; then a sort ends it.
func selectNth(a []ranked, n int, compare func(a, b ranked) int) {
	for rounds := 4 * bits.Len(uint(len(a))); len(a) > 1; rounds-- {
		if rounds == 0 {
			slices.SortFunc(a, compare)
			return
		}
		pivot := a[len(a)/2]
		i, j := 0, len(a)-1
		for i <= j {
			for compare(a[i], pivot) < 0 {
				i++
			}
			for compare(a[j], pivot) > 0 {
				j--
			}
			if i <= j {
				a[i], a[j] = a[j], a[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			a = a[:j+1]
		case n >= i:
			a, n = a[i:], n-i
		default:
			return
		}
	}
}
