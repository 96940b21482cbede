package topkexporter

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// routes are the paths that exist, as openapi.yaml writes them.
var routes = [...]string{
	"/",
	"/app.js",
	"/healthz",
	"/icon.svg",
	"/metrics",
	"/openapi.yaml",
	"/style.css",
	"/top",
	"/v1/count",
	"/v1/keys/{key}/count",
	"/v1/rules",
	"/v1/status",
	"/v1/trending",
}

const keyRoute = "/v1/keys/{key}/count"

// routeIndex finds a route by its path.
var routeIndex = func() map[string]int {
	index := map[string]int{}
	for i, path := range routes {
		index[path] = i
	}
	return index
}()

func routeName(route int) string {
	if route == len(routes) {
		return "other"
	}
	return routes[route]
}

// handler answers every request. Paths are matched as they are sent, never cleaned, because a key may hold slashes and dots.
type handler struct {
	store       *store
	longestSpan time.Duration // of the past
	requests    requestCounts
	metrics     http.Handler
	now         func() time.Time
}

func newHandler(s *store, longestSpan time.Duration) *handler {
	h := &handler{store: s, longestSpan: longestSpan, now: time.Now}
	h.metrics = newMetricsPage(s, &h.requests)
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	route := h.serve(sent, r)
	h.requests.add(route, sent.status)
}

// serve answers r and returns its route.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) int {
	secure(w.Header())
	path := r.URL.EscapedPath()
	key, isKey := keyOfPath(path)
	route, found := routeIndex[path]
	if isKey {
		route, found = routeIndex[keyRoute]
	}
	if !found {
		writeProblem(w, r, http.StatusNotFound, "there is no such path; /openapi.yaml lists what there is")
		return len(routes)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeProblem(w, r, http.StatusMethodNotAllowed, "method: allowed are GET and HEAD")
		return route
	}
	if routes[route] == "/metrics" {
		w.Header().Set("Cache-Control", cacheNothing)
		h.metrics.ServeHTTP(w, r)
		return route
	}
	a, err := h.answer(r.Context(), route, key, r.URL.RawQuery)
	if err != nil {
		p := &problem{status: http.StatusInternalServerError, text: err.Error()}
		errors.As(err, &p)
		if p.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(p.retryAfter.Seconds())))
		}
		writeProblem(w, r, p.status, p.text)
		return route
	}
	a.write(w, r)
	return route
}

func (h *handler) answer(ctx context.Context, route int, key, rawQuery string) (*answer, error) {
	c := h.store.catalog()
	switch path := routes[route]; path {
	case "/v1/trending", "/top":
		return h.trending(ctx, c, rawQuery)
	case "/v1/count":
		return h.countOfQuery(ctx, c, rawQuery)
	case keyRoute:
		return h.countOfPath(ctx, c, key, rawQuery)
	case "/v1/rules":
		return c.rulesCall(rawQuery)
	case "/v1/status":
		return c.status(rawQuery, h.now(), h.store)
	default:
		return files[path], nil
	}
}

// secure sets the headers that every answer carries: nothing but what this server sends is loaded, framed or guessed.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
		"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

// refuse answers what confighttp does not let through: a wrong Content-Encoding, a missing login.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, text string, status int) {
	secure(w.Header())
	writeProblem(w, r, status, text)
	h.requests.add(len(routes), status)
}
