package seedload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// exact counts for one list: of a region or, without a name, of all, from a minute on.
type exact struct {
	weights []uint32       // by rank, of all that was counted: what counted twice included
	total   uint64         // of them
	best    []oracle.Count // the first places
	sent    []oracle.Count // the first places of what was sent, each record once
}

// count what the list of a region and a window has to hold. The weights are of the exact counts before, if there are any.
func (l *load) count(region string, from time.Time, twice []record, before *exact) *exact {
	e := new(exact)
	if before != nil {
		e.weights = before.weights
		clear(e.weights)
	} else {
		e.weights = make([]uint32, l.keys)
	}
	for _, r := range l.requests {
		if r.due.Before(from) {
			continue
		}
		for _, run := range r.runs {
			if region != "" && run.region != region {
				continue
			}
			for _, rank := range r.ranks[run.from:run.to] {
				e.weights[rank]++
			}
			e.total += uint64(run.to - run.from)
		}
	}
	e.sent = e.top(places)
	for _, r := range twice {
		if !r.at.Before(from) && (region == "" || r.region == region) {
			e.weights[rankOf(r.tenant)]++
			e.total++
		}
	}
	e.best = e.top(places)
	return e
}

// weight of a key.
func (e *exact) weight(key string) uint64 {
	if rank := rankOf(key); rank >= 0 && rank < len(e.weights) {
		return uint64(e.weights[rank])
	}
	return 0
}

// rankOf a tenant's name, or -1.
func rankOf(key string) int {
	number, err := strconv.Atoi(strings.TrimPrefix(key, "tenant-"))
	if err != nil {
		return -1
	}
	return number - 1
}

// top are the n heaviest keys.
func (e *exact) top(n int) (list []oracle.Count) {
	least := uint64(0)
	for rank, weight := range e.weights {
		if weight == 0 || uint64(weight) < least {
			continue
		}
		list = append(list, oracle.Count{Key: generator.TenantName(rank), Weight: uint64(weight)})
		if len(list) >= 64*n {
			list = heaviest(list, n)
			least = list[n-1].Weight
		}
	}
	return heaviest(list, n)
}

func heaviest(list []oracle.Count, n int) []oracle.Count {
	slices.SortFunc(list, func(a, b oracle.Count) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(n, len(list))]
}

// judge a list: its total and its bounds must hold, and it must be the exact one of what was counted, up to ties: each place
// has a key of the weight that belongs there.
func (e *exact) judge(list *oracle.List) error {
	var problems []error
	if list.Total != e.total {
		problems = append(problems, fmt.Errorf("total is %d, not %d", list.Total, e.total))
	}
	for i, item := range list.Items {
		if weight := e.weight(item.Key); item.Lower > weight || item.Estimate < weight {
			problems = append(problems, fmt.Errorf("item %d (%q) weighs %d, outside %d to %d", i+1, item.Key, weight, item.Lower, item.Estimate))
		}
	}
	if !slices.EqualFunc(list.Items, e.best, func(item oracle.Item, b oracle.Count) bool { return e.weight(item.Key) == b.Weight }) {
		problems = append(problems, fmt.Errorf("the list is %v, not %v", list.Items, e.best))
	}
	return errors.Join(problems...)
}

// once says whether the list is also the exact one of what was sent.
func (e *exact) once(list *oracle.List) bool {
	return slices.EqualFunc(list.Items, e.sent, func(item oracle.Item, c oracle.Count) bool { return item.Key == c.Key })
}
