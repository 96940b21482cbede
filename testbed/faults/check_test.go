package faults

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/otel-topk/collector/testbed/oracle"
)

// patience is the time that lists have to hold all that was answered.
const patience = 30 * time.Second

// afterglow is how much longer than needed lists are left alone before they are checked: what is counted twice comes late.
const afterglow = time.Second

// settled waits until every list holds what was answered, and then says where one lies outside.
func settled(a *api, l *ledger, queries []query) error {
	deadline := time.Now().Add(patience)
	newest := l.newest()
	for {
		late := all(queries, func(q query) error { return current(a, l, q, newest) })
		if late == nil { // repeats can fill a total while a key still lacks what was answered
			late = all(queries, func(q query) error { return exactly(a, l, q) })
		}
		if late == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %w", patience, late)
		}
		<-time.After(100 * time.Millisecond)
	}
	<-time.After(afterglow)
	return all(queries, func(q query) error { return still(a, l, q) })
}

func all(queries []query, check func(query) error) error {
	var problems []error
	for _, q := range queries {
		if err := check(q); err != nil {
			problems = append(problems, fmt.Errorf("%v: %w", q, err))
		}
	}
	return few(problems)
}

// current says why a list does not hold all that was answered yet, of which the newest is of a time.
func current(a *api, l *ledger, q query, newest time.Time) error {
	list, status, err := a.list(q, "")
	switch {
	case err != nil:
		return err
	case list.AsOf == nil:
		return fmt.Errorf("status %d and no list", status)
	case list.AsOf.Before(newest):
		return fmt.Errorf("the list is of %v", list.AsOf)
	}
	if answered, _ := l.window(list); list.Total < answered.Total {
		return fmt.Errorf("total is %d of %d answered", list.Total, answered.Total)
	}
	return nil
}

// Every key is asked for in one window, and some in the others.
const (
	fullyAsked = "5m"
	someKeys   = 50
)

// exactly holds a list and the counts of keys against the ledger.
func exactly(a *api, l *ledger, q query) error {
	for {
		list, status, err := a.list(q, "100")
		if err != nil || list.AsOf == nil {
			return errors.Join(err, fmt.Errorf("status %d", status))
		}
		answered, sent := l.window(list)
		problems := []error{covers(list, answered, sent)}
		n := 0
		for key := range sent.Weights {
			if n++; q.window != fullyAsked && n > someKeys {
				break
			}
			problems = append(problems, a.point(q, key, answered, sent))
		}
		again, _, err := a.list(q, "")
		if err != nil || again.AsOf == nil {
			return errors.Join(err, errors.New("the list is gone"))
		}
		if again.WindowStart.Equal(*list.WindowStart) {
			return few(problems)
		} // else the window moved on while its keys were asked for
	}
}

// still holds a list alone against the ledger.
func still(a *api, l *ledger, q query) error {
	list, status, err := a.list(q, "100")
	if err != nil || list.AsOf == nil {
		return errors.Join(err, fmt.Errorf("status %d", status))
	}
	answered, sent := l.window(list)
	return covers(list, answered, sent)
}

func (a *api) point(q query, key string, answered, sent *oracle.Counts) error {
	var p oracle.Point
	values := q.values()
	values.Set("key", key)
	status, err := a.get("/v1/count", values, &p)
	if err != nil || status != 200 {
		return errors.Join(err, fmt.Errorf("key %q: status %d", url.PathEscape(key), status))
	}
	return between(key, p.Estimate, p.Lower, answered, sent)
}
