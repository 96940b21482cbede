package topk

import (
	"cmp"
	"math"
	"slices"
)

// verdicts counts certificates given and withheld.
type verdicts struct{ certified, not, rank, notRank int }

// certificates checks every certificate of lists of any length against the truth.
func (w *world) certificates(v *verdicts) {
	w.t.Helper()
	type keyed struct {
		key string
		f   uint64
	}
	var all []keyed
	for key, f := range w.truth {
		all = append(all, keyed{key, f})
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(b.f, a.f) })
	for k := 1; k <= w.s.Size()+1; k += 1 + k/4 {
		l := w.list(k)
		listed := map[string]bool{}
		least := uint64(math.MaxUint64)
		for _, it := range l.Items {
			listed[it.Key] = true
			least = min(least, w.truth[it.Key])
		}
		var outside uint64 // the largest that is not listed
		for _, x := range all {
			if !listed[x.key] {
				outside = x.f
				break
			}
		}
		w.require(l.Certified || len(l.Items) < k || l.Gap() <= l.ErrorBound(), "list of %d: gap %d, error bound %d", k, l.Gap(), l.ErrorBound())
		if l.Certified {
			v.certified++
			w.require(outside <= least, "list of %d is certified: inside %d, outside %d", k, least, outside)
			w.require(len(l.Items) == k || outside == 0, "list of %d is certified with %d items, outside %d", k, len(l.Items), outside)
		} else {
			v.not++
		}
		for i, it := range l.Items {
			f := w.truth[it.Key]
			larger, notSmaller := 0, 0
			for _, x := range all {
				if x.f < f {
					break
				}
				notSmaller++
				if x.f > f {
					larger++
				}
			}
			if it.Certain {
				w.require(larger < k, "%q is certain in a list of %d, %d keys are larger", it.Key, k, larger)
			}
			if it.RankCertain {
				v.rank++
				w.require(larger <= i && notSmaller > i, "%q is certain at rank %d, %d keys are larger, %d not smaller", it.Key, i+1, larger, notSmaller)
			} else {
				v.notRank++
			}
		}
	}
}
