package exact

import (
	"iter"
	"slices"
	"strings"

	"github.com/otel-topk/collector/internal/table"
)

// firstOf yields the heaviest rows of each list, sorted as they came.
func firstOf(rows iter.Seq2[table.Row, error], most int) iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		first := table.Heaviest{Most: most}
		flush := func() bool {
			kept := first.Rows()
			slices.SortFunc(kept, func(a, b table.Row) int { return strings.Compare(a.Key, b.Key) })
			for _, row := range kept {
				if !yield(row, nil) {
					return false
				}
			}
			first = table.Heaviest{Most: most}
			return true
		}
		var last table.Row
		for row, err := range rows {
			if err != nil {
				yield(row, err)
				return
			}
			if row.Group != last.Group && !flush() {
				return
			}
			first.Add(row)
			last = row
		}
		flush()
	}
}
