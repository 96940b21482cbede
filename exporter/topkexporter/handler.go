package topkexporter

import (
	"context"
	"net/http"
	"slices"
	"strings"
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
	"/v1/audits",
	"/v1/count",
	"/v1/keys/{key}/count",
	"/v1/recounts",
	"/v1/recounts/{job_id}",
	"/v1/rules",
	"/v1/status",
	"/v1/trending",
}

const (
	keyRoute      = "/v1/keys/{key}/count"
	recountsRoute = "/v1/recounts"
	jobRoute      = "/v1/recounts/{job_id}"
)

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
	recounts    *recounting // nil: there are none
	guard       guard       // of recounts
	metrics     http.Handler
	now         func() time.Time
}

func newHandler(s *store, config *Config) *handler {
	h := &handler{store: s, longestSpan: config.longestSpan(), guard: newGuard(&config.ServerConfig), now: time.Now}
	h.metrics = newMetricsPage(h)
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
	job, isJob := jobOfPath(path)
	switch {
	case isKey:
		route, found = routeIndex[keyRoute]
	case isJob:
		route, found = routeIndex[jobRoute]
	}
	if !found {
		writeProblem(w, r, http.StatusNotFound, "there is no such path; /openapi.yaml lists what there is")
		return len(routes)
	}
	if allowed := methodsOf(routes[route]); !slices.Contains(allowed, r.Method) {
		names := strings.Join(allowed, ", ")
		w.Header().Set("Allow", names)
		writeProblem(w, r, http.StatusMethodNotAllowed, "method: "+r.Method+" is not allowed; allowed: "+names)
		return route
	}
	switch routes[route] {
	case "/metrics":
		w.Header().Set("Cache-Control", cacheNothing)
		h.metrics.ServeHTTP(w, r)
	case recountsRoute, jobRoute:
		h.recount(w, r, job)
	default:
		a, err := h.answer(r.Context(), route, key, r.URL.RawQuery)
		if err != nil {
			writeError(w, r, err)
			return route
		}
		a.write(w, r)
	}
	return route
}

// methodsOf are those that a route takes.
func methodsOf(route string) []string {
	switch route {
	case recountsRoute:
		return []string{http.MethodGet, http.MethodHead, http.MethodPost}
	case jobRoute:
		return []string{http.MethodGet, http.MethodHead, http.MethodDelete}
	}
	return []string{http.MethodGet, http.MethodHead}
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
	case "/v1/audits":
		return h.audits(rawQuery)
	case "/v1/rules":
		return c.rulesCall(rawQuery)
	case "/v1/status":
		return c.status(rawQuery, h.now(), h.store, h.recounts)
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
