package table

import (
	"container/heap"
	"errors"
	"iter"
	"math"
)

var errTotal = errors.New("table: the weights of a key add up to more than 2^63-1")

// Merge adds rows of several tables, each sorted by scope, group and key, into one such sequence.
func Merge(tables ...iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	if len(tables) == 1 {
		return tables[0]
	}
	return func(yield func(Row, error) bool) {
		var open heads
		defer func() {
			for _, h := range open {
				h.stop()
			}
		}()
		for _, rows := range tables {
			next, stop := iter.Pull2(rows)
			h := &head{next: next, stop: stop}
			if ok, err := h.advance(); err != nil {
				stop()
				yield(Row{}, err)
				return
			} else if !ok {
				stop()
				continue
			}
			open = append(open, h)
		}
		heap.Init(&open)
		for len(open) > 0 {
			sum, err := open.take()
			for err == nil && len(open) > 0 && compare(&open[0].row, &sum) == 0 {
				var more Row
				more, err = open.take()
				if more.Weight > MaxWeight-sum.Weight || more.Records > math.MaxInt64-sum.Records {
					err = errors.Join(err, errTotal)
				}
				sum.Weight, sum.Records = sum.Weight+more.Weight, sum.Records+more.Records
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(sum, nil) {
				return
			}
		}
	}
}

// head is the next row of a table.
type head struct {
	row  Row
	next func() (Row, error, bool)
	stop func()
}

func (h *head) advance() (ok bool, err error) {
	h.row, err, ok = h.next()
	return ok, err
}

// heads is a heap, the least row first.
type heads []*head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return compare(&h[i].row, &h[j].row) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(*head)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// take the least row.
func (h *heads) take() (Row, error) {
	least := (*h)[0]
	row := least.row
	switch ok, err := least.advance(); {
	case err != nil:
		return row, err
	case ok:
		heap.Fix(h, 0)
	default:
		least.stop()
		heap.Pop(h)
	}
	return row, nil
}
