package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otel-topk/collector/testbed/oracle"
)

// query names a list.
type query struct {
	rule, window string
	group        oracle.Group
}

func (q query) String() string {
	return fmt.Sprintf("rule %s, window %s, %s %s", q.rule, q.window, q.group.Scope, q.group.Name)
}

// values of the API's query string.
func (q query) values() url.Values {
	v := url.Values{"rule": {q.rule}, "window": {q.window}}
	if q.group.Scope == "group" {
		v.Set("group", q.group.Name)
	}
	return v
}

// api of the gateway. It is asked at all times, also while the gateway is down.
type api struct {
	address string
	client  *http.Client
	life    atomic.Int64 // odd while the gateway is up, another number in each life
}

func newAPI(address string) *api {
	return &api{address: address, client: &http.Client{Timeout: 5 * time.Second}}
}

func (a *api) rises() { a.life.Add(1) } // once the gateway is ready
func (a *api) falls() { a.life.Add(1) } // before it is killed

// errDown is of a question that met a gateway that was down for a part of it.
var errDown = errors.New("the gateway was down")

// get asks, and decodes an answer of 200.
func (a *api) get(path string, values url.Values, answer any) (status int, err error) {
	life := a.life.Load()
	defer func() {
		if life%2 == 0 || life != a.life.Load() {
			status, err = 0, errDown
		}
	}()
	response, err := a.client.Get("http://" + a.address + path + "?" + values.Encode())
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return response.StatusCode, err
	}
	return response.StatusCode, json.Unmarshal(body, answer)
}

func (a *api) list(q query, k string) (*oracle.List, int, error) {
	list := new(oracle.List)
	values := q.values()
	if k != "" {
		values.Set("k", k)
	}
	status, err := a.get("/v1/trending", values, list)
	return list, status, err
}

// watch asks for every list all along and notes where one goes back or is missing.
type watch struct {
	api     *api
	queries []query
	stop    chan struct{}
	ended   sync.WaitGroup

	mu       sync.Mutex
	lossy    bool // what was stored is damaged or out of reach: lists may go back
	seen     map[query]*oracle.List
	problems []error
	reads    int
}

func startWatch(a *api, queries []query) *watch {
	w := &watch{api: a, queries: queries, stop: make(chan struct{}), seen: make(map[query]*oracle.List)}
	w.ended.Go(w.run)
	return w
}

func (w *watch) run() {
	for {
		for _, q := range w.queries {
			w.look(q)
		}
		select {
		case <-w.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (w *watch) look(q query) {
	list, status, err := w.api.list(q, "")
	if errors.Is(err, errDown) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	before := w.seen[q]
	if before == nil && err == nil && (status == http.StatusNotFound || list.AsOf == nil) {
		return // not published yet
	}
	if err == nil {
		err = w.follows(q, before, list, status)
	}
	if err != nil {
		w.problems = append(w.problems, fmt.Errorf("%v at %s: %w", q, time.Now().Format("15:04:05.000"), err))
		return
	}
	w.seen[q] = list
}

// follows says why a list cannot come after the one before.
func (w *watch) follows(q query, before, list *oracle.List, status int) error {
	switch {
	case w.lossy && status == http.StatusNotFound:
		return nil // until it is published anew
	case status != http.StatusOK:
		return fmt.Errorf("status %d while the gateway is up", status)
	case w.lossy:
		return nil
	case list.AsOf == nil:
		return errors.New("no as_of after there was one")
	case before == nil:
		return nil
	case list.AsOf.Before(*before.AsOf):
		return fmt.Errorf("as_of went back from %v to %v", before.AsOf, list.AsOf)
	case list.WindowStart.Before(*before.WindowStart):
		return fmt.Errorf("window_start went back from %v to %v", before.WindowStart, list.WindowStart)
	case list.WindowStart.After(later(*before.WindowStart, q.start(*list.AsOf))):
		return fmt.Errorf("window_start went from %v to %v as of %v: what was before is lost", before.WindowStart, list.WindowStart, list.AsOf)
	case list.WindowStart.Equal(*before.WindowStart) && list.Total < before.Total:
		return fmt.Errorf("total went back from %d to %d while the window starts at %v", before.Total, list.Total, list.WindowStart)
	}
	return nil
}

// start of the window as of a time, where all its minutes are kept.
func (q query) start(asOf time.Time) time.Time {
	length, _ := time.ParseDuration(q.window)
	return asOf.Truncate(time.Minute).Add(time.Minute - length)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// allowLoss from now on: of a list that was seen only an answer is asked, be it that it is not there.
func (w *watch) allowLoss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lossy = true
}

// found so far.
func (w *watch) found() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return few(w.problems)
}

// count of lists that were read.
func (w *watch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads
}

func (w *watch) end() {
	close(w.stop)
	w.ended.Wait()
}
