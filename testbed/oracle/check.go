package oracle

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// Law says where a list of at most k breaks a promise: a bound that does not hold, a certificate that is not true, a sum
// that does not add up. It does not ask whether the list is the best one.
func (l *List) Law(exact *Counts, k int) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	ranked := exact.Ranked()
	above := func(weight uint64) int { // keys of more than weight
		return sort.Search(len(ranked), func(i int) bool { return ranked[i].Weight <= weight })
	}

	if l.Total != exact.Total {
		wrong("total is %d, not %d", l.Total, exact.Total)
	}
	if l.Records != exact.Records {
		wrong("records is %d, not %d", l.Records, exact.Records)
	}
	if l.TotalUpper < l.Total {
		wrong("total_upper %d is below total %d", l.TotalUpper, l.Total)
	}
	if len(l.Items) > k {
		wrong("%d items were listed, more than %d", len(l.Items), k)
	}
	seen, lowers := make(map[string]bool), uint64(0)
	for i, item := range l.Items {
		name := fmt.Sprintf("item %d (%q)", i+1, item.Key)
		weight := exact.Weights[item.Name()]
		lowers += item.Lower
		if seen[item.Name()] {
			wrong("%s is listed twice", name)
		}
		seen[item.Name()] = true
		if item.Rank != i+1 {
			wrong("%s has rank %d", name, item.Rank)
		}
		if i > 0 {
			before := l.Items[i-1]
			if before.Estimate < item.Estimate || before.Estimate == item.Estimate && before.Key > item.Key {
				wrong("%s is out of order", name)
			}
		}
		if item.Lower > weight || weight > item.Estimate {
			wrong("%s weighs %d, outside %d to %d", name, weight, item.Lower, item.Estimate)
		}
		if item.ErrorBound != item.Estimate-item.Lower {
			wrong("%s has error_bound %d, not estimate - lower = %d", name, item.ErrorBound, item.Estimate-item.Lower)
		}
		if share := float64(item.Estimate) / float64(l.TotalUpper); math.Abs(item.Share-share) > 1e-9 {
			wrong("%s has share %v, not estimate / total_upper = %v", name, item.Share, share)
		}
		if item.Certain && above(weight) >= k {
			wrong("%s is certain, yet %d keys weigh more than its %d", name, above(weight), weight)
		}
		if item.RankCertain && (i >= len(ranked) || ranked[i].Weight != weight) {
			wrong("%s is rank_certain, yet weighs %d, not what the true rank %d does", name, weight, i+1)
		}
	}
	for _, c := range ranked[:above(l.Theta)] {
		if !seen[c.Key] {
			wrong("%q is not listed and weighs %d, more than theta %d", c.Key, c.Weight, l.Theta)
		}
	}
	if l.Other != l.Total-min(lowers, l.Total) {
		wrong("other is %d, not total - sum(lower) = %d", l.Other, l.Total-min(lowers, l.Total))
	}
	if l.Certified {
		if len(l.Items) != min(k, len(ranked)) {
			wrong("certified, yet %d items are listed of %d keys", len(l.Items), len(ranked))
		}
		for i, item := range l.Items {
			if !item.Certain {
				wrong("certified, yet item %d is not certain", i+1)
			}
		}
	}
	return join(problems)
}

// Same says where the list is not the exact one: each place must hold a key of the weight that belongs there.
func (l *List) Same(exact *Counts, k int) error {
	var problems []error
	ranked := exact.Ranked()
	ranked = ranked[:min(k, len(ranked))]
	if len(l.Items) != len(ranked) {
		problems = append(problems, fmt.Errorf("%d items are listed, not %d", len(l.Items), len(ranked)))
	}
	for i := range min(len(ranked), len(l.Items)) {
		name := l.Items[i].Name()
		if weight := exact.Weights[name]; weight != ranked[i].Weight {
			problems = append(problems, fmt.Errorf("place %d holds %q of %d, not %q of %d",
				i+1, name, weight, ranked[i].Key, ranked[i].Weight))
		}
	}
	return join(problems)
}

// Law says whether the bounds of a point count hold.
func (p *Point) Law(exact *Counts) error {
	weight := exact.Weights[p.Key]
	if p.Lower > weight || weight > p.Estimate || p.ErrorBound != p.Estimate-p.Lower {
		return fmt.Errorf("key %q weighs %d; answered: %d to %d, error_bound %d", p.Key, weight, p.Lower, p.Estimate, p.ErrorBound)
	}
	return nil
}

// join keeps the first few problems.
func join(problems []error) error {
	const most = 8
	if len(problems) > most {
		problems = append(problems[:most], fmt.Errorf("and %d more", len(problems)-most))
	}
	return errors.Join(problems...)
}
