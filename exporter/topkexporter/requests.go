package topkexporter

import (
	"iter"
	"net/http"
	"sync/atomic"
)

// requestCounts counts answered requests by route and status code.
type requestCounts [len(routes) + 1][600]atomic.Uint64

// add counts one request to routes[route]; len(routes) stands for all other paths.
func (c *requestCounts) add(route, code int) { c[route][code].Add(1) }

// requestCount is how many requests to a route were answered with a code.
type requestCount struct {
	route string
	code  int
	count uint64
}

// all yields what is not zero.
func (c *requestCounts) all() iter.Seq[requestCount] {
	return func(yield func(requestCount) bool) {
		for i := range c {
			for code := range c[i] {
				if n := c[i][code].Load(); n > 0 && !yield(requestCount{routeName(i), code, n}) {
					return
				}
			}
		}
	}
}

// statusWriter remembers the status that was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
