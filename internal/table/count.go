package table

import (
	"context"
	"slices"
	"sort"

	"github.com/otel-topk/collector/internal/rule"
)

// Count of one key in one list; zero where the list lacks it. It reads a few pages.
func (t *Table) Count(ctx context.Context, g rule.Group, key string) (Row, error) {
	row := Row{Group: g, Key: key}
	i, found := find(t.footer.Sums, g)
	if !found {
		return row, ctx.Err()
	}
	from, to := t.footer.place(i)
	for _, p := range t.holding(from, to, key) {
		r := source{from: t.file}
		err := r.survive(func() (err error) {
			found, err = t.look(&r, max(p.from, from), min(p.to, to), &row)
			return err
		})
		if err != nil || found {
			return row, err
		}
		if err := ctx.Err(); err != nil {
			return row, err
		}
	}
	return row, nil
}

// holding are the pages that may hold key among the rows of a list: one of those inside of it, where keys ascend, and those at its
// edges, which hold keys of other lists too.
func (t *Table) holding(from, to int64, key string) []page {
	first := sort.Search(len(t.pages), func(i int) bool { return t.pages[i].to > from })
	end := sort.Search(len(t.pages), func(i int) bool { return t.pages[i].from >= to })
	pages := t.pages[first:end]
	inner := pages
	var holding []page
	edge := func(p page) {
		if p.first <= key && key <= p.last {
			holding = append(holding, p)
		}
	}
	if len(inner) > 0 && (inner[0].from < from || inner[0].to > to) {
		edge(inner[0])
		inner = inner[1:]
	}
	if n := len(inner); n > 0 && inner[n-1].to > to {
		edge(inner[n-1])
		inner = inner[:n-1]
	}
	if i := sort.Search(len(inner), func(i int) bool { return inner[i].last >= key }); i < len(inner) {
		edge(inner[i])
	}
	return holding
}

// look for row.Key in the rows before to, the first of which is from; they lie in one page of keys.
func (t *Table) look(r *source, from, to int64, row *Row) (bool, error) {
	i, _ := slices.BinarySearchFunc(t.groups, from, func(g rowGroup, row int64) int {
		if row >= g.to {
			return -1
		}
		return 1
	})
	g := &t.groups[i]
	keys := column{pages: g.columns[keyColumn].PagesFrom(r)}
	defer keys.close()
	if err := keys.read(from-g.from, int(to-from)); err != nil {
		return false, err
	}
	at, found := slices.BinarySearch(keys.keys, row.Key)
	if !found {
		return false, nil
	}
	for c, n := range map[int]*uint64{weightColumn: &row.Weight, recordsColumn: &row.Records} {
		column := column{pages: g.columns[c].PagesFrom(r)}
		err := column.read(from-g.from+int64(at), 1)
		if err == nil {
			*n = uint64(column.numbers[0])
		}
		column.close()
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
