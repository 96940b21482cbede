package topkexporter

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// Values of Cache-Control. A list may be shown for ten seconds, and for a day while nothing newer can be had.
const (
	cacheLists   = "max-age=10, stale-while-revalidate=30, stale-if-error=86400"
	cacheFiles   = "no-cache" // ask again, by ETag
	cacheNothing = "no-store"
)

const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
)

// answer is an encoded response of status 200. It is immutable.
type answer struct {
	body        []byte
	etag        string
	length      string
	contentType string
	cache       string
}

func newAnswer(body []byte, contentType, cache string) *answer {
	hash := xxh3.Hash128(body).Bytes()
	return &answer{
		body:        body,
		etag:        `"` + hex.EncodeToString(hash[:]) + `"`,
		length:      strconv.Itoa(len(body)),
		contentType: contentType,
		cache:       cache,
	}
}

// newJSON encodes v, which has no value that JSON lacks.
func newJSON(v any, cache string) *answer {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("topkexporter: " + err.Error()) // cannot be: our own types, no NaN, no cycle
	}
	return newAnswer(b.Bytes(), typeJSON, cache)
}

// write sends a to a client that may have it already.
func (a *answer) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", a.cache)
	if a.cache != cacheNothing {
		h.Set("ETag", a.etag)
		if holds(r.Header.Get("If-None-Match"), a.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", a.contentType)
	h.Set("Content-Length", a.length)
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body) // the client is gone if this fails
	}
}

// holds says whether the value of If-None-Match names etag, by the weak comparison of RFC 9110.
func holds(header, etag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == etag {
			return true
		}
	}
	return false
}

// writeError sends err as JSON.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	p := &problem{status: http.StatusInternalServerError, text: err.Error()}
	errors.As(err, &p)
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(p.retryAfter.Seconds())))
	}
	writeProblem(w, r, p.status, p.text)
}

// writeProblem sends an error as JSON.
func writeProblem(w http.ResponseWriter, r *http.Request, status int, text string) {
	writeJSON(w, r, status, struct {
		Error string `json:"error"`
	}{text})
}

// writeJSON sends v, which nobody may keep.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	a := newJSON(v, cacheNothing)
	h := w.Header()
	h.Set("Cache-Control", cacheNothing)
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", a.length)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}

// mostCached is how many bytes of answers one catalog keeps; beyond it each answer is encoded when it is asked for.
const mostCached = 64 << 20

// answerKey is a list and a length, or the name of another answer.
type answerKey struct {
	list *list
	k    int
	name string
}

// answerCache keeps the answers of one catalog. They go with it when the next one is published.
type answerCache struct {
	answers sync.Map // answerKey to *answer
	bytes   atomic.Int64
}

// get is the answer under key, encoded the first time it is asked for.
func (c *answerCache) get(key answerKey, encode func() *answer) *answer {
	if a, found := c.answers.Load(key); found {
		return a.(*answer)
	}
	a := encode()
	if c.bytes.Load() < mostCached {
		if _, raced := c.answers.LoadOrStore(key, a); !raced {
			c.bytes.Add(int64(len(a.body)))
		}
	}
	return a
}
