package recount

import (
	"bytes"
	"cmp"
	"context"
)

// merger reads several runs as one: rows of the same list and key are added up.
type merger struct {
	place []uint32     // of each list in the order
	heap  []*runReader // the smallest first
	row   row
	key   []byte
}

// merge reads runs of s whose lists have these places.
func (s *spill) merge(runs []run, place []uint32) (*merger, error) {
	m := &merger{place: place}
	for _, r := range runs {
		reader := s.reader(r)
		ok, err := reader.next()
		if err != nil {
			return nil, err
		}
		if ok {
			m.heap = append(m.heap, reader)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return m, nil
}

func (m *merger) less(a, b *runReader) bool {
	return cmp.Or(cmp.Compare(m.place[a.row.list], m.place[b.row.list]), bytes.Compare(a.row.key, b.row.key)) < 0
}

// sink moves the reader at i down to where it belongs.
func (m *merger) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.less(m.heap[child], m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// advance moves the first reader to its next row.
func (m *merger) advance() error {
	ok, err := m.heap[0].next()
	if err != nil {
		return err
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0], m.heap[last] = m.heap[last], nil
		m.heap = m.heap[:last]
	}
	m.sink(0)
	return nil
}

// next reads a row; ok is false after the last.
func (m *merger) next() (ok bool, err error) {
	if len(m.heap) == 0 {
		return false, nil
	}
	first := &m.heap[0].row
	m.key = append(m.key[:0], first.key...)
	m.row = row{first.list, m.key, first.weight, first.records}
	for {
		if err := m.advance(); err != nil {
			return false, err
		}
		if len(m.heap) == 0 {
			return true, nil
		}
		same := &m.heap[0].row
		if same.list != m.row.list || !bytes.Equal(same.key, m.key) {
			return true, nil
		}
		m.row.weight += same.weight
		m.row.records += same.records
	}
}

// checkEvery so many rows it is seen whether the count was cancelled.
const checkEvery = 4096

// mergeRuns writes runs as one, and calls each (nil: nothing) with every row and where it lies.
func (s *spill) mergeRuns(ctx context.Context, runs []run, place []uint32, each func(r *row, at int64)) (run, error) {
	m, err := s.merge(runs, place)
	if err != nil {
		return run{}, err
	}
	w, err := s.writer()
	if err != nil {
		return run{}, err
	}
	for n := 1; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return run{}, ctx.Err()
		}
		ok, err := m.next()
		if err != nil {
			return run{}, err
		}
		if !ok {
			return w.close()
		}
		if each != nil {
			each(&m.row, w.run.to)
		}
		if err := w.append(&m.row); err != nil {
			return run{}, err
		}
	}
}
