package faults

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// batch is one request, and what it says.
type batch struct {
	at      time.Time // of all its records
	slot    string    // a key that few batches share
	records []generator.Record
}

// ledger is what a client knows of its records. What was answered is counted; what was sent may be.
type ledger struct {
	mu             sync.Mutex
	answered, sent counts
	others         []*ledger // of records that may be counted, and need not
	batches        int       // answered
	repeats        int       // sent and not answered
	late           int       // answered when their minute may have been closed
}

// counts by rule.
type counts map[string]*oracle.Tally

func newLedger() *ledger {
	l := &ledger{answered: counts{}, sent: counts{}}
	for _, rule := range ruleNames {
		l.answered[rule], l.sent[rule] = new(oracle.Tally), new(oracle.Tally)
	}
	return l
}

func (t counts) add(b *batch) {
	at := b.at.UnixNano()
	for _, r := range b.records {
		t["slots"].Add(at, oracle.Global, b.slot, 1)
		t["tenants"].Add(at, oracle.Named(r.Region), r.Tenant, 1)
		t["bytes"].Add(at, oracle.Global, r.Client, uint64(r.Bytes))
	}
}

// attempted notes a batch that went out n times for one call, which was answered or was not. Answered in time means before
// the minute of its records could be closed.
func (l *ledger) attempted(b *batch, n int, answered, inTime bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.sent.add(b)
	}
	switch {
	case answered && inTime:
		l.answered.add(b)
		l.batches++
		l.repeats += n - 1
	case answered:
		l.late++
		l.repeats += n - 1
	default:
		l.repeats += n
	}
}

func (l *ledger) String() string {
	return fmt.Sprintf("%d batches answered, %d sent without an answer, %d answered late", l.batches, l.repeats, l.late)
}

// newest time of what was answered.
func (l *ledger) newest() time.Time { return l.answered[ruleNames[0]].Newest() }

// mayHold says that lists may also hold what is in another ledger.
func (l *ledger) mayHold(o *ledger) { l.others = append(l.others, o) }

// window is what must and what may be counted of a list.
func (l *ledger) window(list *oracle.List) (answered, sent *oracle.Counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := func(t counts) *oracle.Counts {
		return t[list.Rule].Window(*list.WindowStart, *list.AsOf, oracle.Group{Scope: list.Scope, Name: list.Group})
	}
	answered, sent = of(l.answered), of(l.sent)
	for _, o := range l.others {
		sent.Merge(of(o.sent))
	}
	return answered, sent
}

// covers says where a list lies outside of what was answered and what was sent.
func covers(list *oracle.List, answered, sent *oracle.Counts) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if list.Total < answered.Total {
		wrong("total %d is below %d answered: lost", list.Total, answered.Total)
	}
	if list.Total > sent.Total {
		wrong("total %d is above %d sent: counted twice", list.Total, sent.Total)
	}
	if list.Records < answered.Records || list.Records > sent.Records {
		wrong("%d records, outside %d answered and %d sent", list.Records, answered.Records, sent.Records)
	}
	listed := make(map[string]bool, len(list.Items))
	for _, item := range list.Items {
		listed[item.Key] = true
		if err := between(item.Key, item.Estimate, item.Lower, answered, sent); err != nil {
			problems = append(problems, err)
		}
	}
	for key, weight := range answered.Weights {
		if !listed[key] && weight > list.Theta {
			wrong("key %q is not listed and weighs %d, more than theta %d", key, weight, list.Theta)
		}
	}
	return few(problems)
}

// between says where the bounds of a key lie outside of what was answered and what was sent.
func between(key string, estimate, lower uint64, answered, sent *oracle.Counts) error {
	switch {
	case estimate < answered.Weights[key]:
		return fmt.Errorf("key %q: estimate %d is below %d answered: lost", key, estimate, answered.Weights[key])
	case lower > sent.Weights[key]:
		return fmt.Errorf("key %q: lower %d is above %d sent: counted twice", key, lower, sent.Weights[key])
	}
	return nil
}

// few keeps the first problems.
func few(problems []error) error {
	const most = 8
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if len(problems) > most {
		problems = append(problems[:most], fmt.Errorf("and %d more", len(problems)-most))
	}
	return errors.Join(problems...)
}
