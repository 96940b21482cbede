package topkexporter

import (
	"cmp"
	"strings"
	"time"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// list is a published list with the summary that answers for keys outside it. It is immutable.
type list struct {
	*wire.Snapshot
	summary  *topk.Summary    // nil: only the list is known
	keyed    *rule.Definition // of summary, with the seed
	received time.Time        // when it was last published
	series   *keySeries       // of a global list that was published
}

func (l *list) id() listID { return listID{l.Window, l.Group} }

// cameAfter orders lists by when they came; of a batch the list of the newest records, the shortest window, the least group
// counts as the last.
func (l *list) cameAfter(o *list) bool {
	return cmp.Or(
		l.received.Compare(o.received),
		l.AsOf.Compare(o.AsOf),
		cmp.Compare(o.Window, l.Window),
		cmp.Compare(o.Group.Scope, l.Group.Scope),
		strings.Compare(o.Group.Name, l.Group.Name),
	) > 0
}

// belongs says whether w was taken of the same moment and records as s, so that list and point counts agree.
func belongs(w *wire.WindowSummary, s *wire.Snapshot) bool {
	return w.AsOf.Equal(s.AsOf) && w.Summary.Total() == s.Total &&
		w.Summary.TotalUpper() == s.TotalUpper && w.Summary.Records() == s.Records
}

// same says whether s is a repetition of what l holds.
func (l *list) same(s *wire.Snapshot) bool {
	return l.AsOf.Equal(s.AsOf) && l.Total == s.Total && l.TotalUpper == s.TotalUpper && l.Records == s.Records
}

// count bounds the weight of key: lower <= weight <= upper; rank is 0 if the list does not hold it. What the list says of
// a key, and of those it does not hold, is true here too.
func (l *list) count(key string) (lower, upper uint64, rank int) {
	for i := range l.List.Items {
		if item := &l.List.Items[i]; item.Key == key {
			return item.Lower, item.Estimate, i + 1
		}
	}
	upper = l.List.Unlisted()
	if l.summary == nil {
		return 0, upper, 0
	}
	lower, estimate := l.summary.Bounds(key)
	return lower, max(lower, min(estimate, upper)), 0
}

// most bounds the weight of any key.
func (l *list) most() uint64 {
	if len(l.List.Items) == 0 {
		return l.List.Unlisted()
	}
	return max(l.List.Items[0].Estimate, l.List.Unlisted())
}
