package faults

import (
	"fmt"
	"sync"
)

// entry of a book is a request and what became of it.
type entry struct {
	records  int
	sent     int // times
	answered bool
}

// book is what a client knows of its requests, by name.
type book struct {
	mu      sync.Mutex
	entries map[string]*entry
}

func newBook() *book { return &book{entries: make(map[string]*entry)} }

// attempted notes a request that went out n times for one call.
func (b *book) attempted(name string, records, n int, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[name]
	if e == nil {
		e = &entry{records: records}
		b.entries[name] = e
	}
	e.sent += n
	e.answered = e.answered || answered
}

// counts of requests.
func (b *book) counts() (answered, repeats int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		repeats += e.sent
		if e.answered {
			answered++
			repeats--
		}
	}
	return answered, repeats
}

// records that were found in an archive, by request: how often each of its records, by number.
type records map[string]map[int]int

// against says what was lost, and what is there twice. Of a request that was sent again because no answer came, all records may be
// there as often as it was sent.
func (b *book) against(found records) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for name := range found {
		if b.entries[name] == nil {
			wrong("request %s was never sent", name)
		}
	}
	for name, e := range b.entries {
		least := 0
		if e.answered {
			least = 1
		}
		got := found[name]
		for i := range e.records {
			switch n := got[i]; {
			case n < least:
				wrong("request %s, record %d: answered, and lost", name, i)
			case n > e.sent:
				wrong("request %s, record %d: sent %d times, and there %d times", name, i, e.sent, n)
			case n != got[0]:
				wrong("request %s: record %d is there %d times and record 0 %d times", name, i, n, got[0])
			}
		}
		if len(got) > e.records {
			wrong("request %s: %d records are there of %d", name, len(got), e.records)
		}
	}
	return few(problems)
}
