package bucket

import (
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Proxy is an HTTP server before another one. A new one passes everything on.
type Proxy struct {
	Address string

	to *httputil.ReverseProxy

	mu     sync.Mutex
	rng    *rand.Rand
	fates  []string // what becomes of requests, one of these each, by lot
	counts map[string]int
}

// What becomes of a request.
const (
	Passed     = "passed"
	Slow       = "slow"        // it is passed on after a while
	Busy       = "busy"        // 503, and it is not passed on
	CutAnswer  = "cut answer"  // it is passed on, and the connection ends in the middle of the answer
	CutRequest = "cut request" // half of what it carries is passed on, and the connection ends
	Lied       = "lied"        // it is passed on, and answered by 503
)

// delay of slow requests at most.
const delay = 300 * time.Millisecond

// NewProxy listens at address until the test ends and passes on to the server at to.
func NewProxy(t testing.TB, address, to string, seed uint64) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	p := &Proxy{Address: address, rng: rand.New(rand.NewPCG(seed, 0)), counts: make(map[string]int)}
	p.to = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: to})
			r.Out.Host = r.In.Host // which is signed
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { busy(w) },
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

// Deal requests one of these fates each, by lot; without any, all are passed on.
func (p *Proxy) Deal(fates ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fates = fates
}

// Counts of what became of requests, by fate.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

func (p *Proxy) draw() (fate string, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fate = Passed
	if n := len(p.fates); n > 0 {
		fate = p.fates[p.rng.IntN(n)]
	}
	p.counts[fate]++
	return fate, time.Duration(p.rng.Int64N(int64(delay)))
}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fate, wait := p.draw()
	switch fate {
	case Slow:
		select {
		case <-r.Context().Done():
			return
		case <-time.After(wait):
		}
	case Busy:
		_, _ = io.Copy(io.Discard, r.Body)
		busy(w)
		return
	case CutRequest:
		r.Body = io.NopCloser(io.LimitReader(r.Body, r.ContentLength/2))
		p.to.ServeHTTP(discard{}, r)
		panic(http.ErrAbortHandler)
	case CutAnswer:
		w = &cut{w, 100}
	case Lied:
		p.to.ServeHTTP(discard{}, r)
		busy(w)
		return
	}
	p.to.ServeHTTP(w, r)
}

// busy is how S3 says that it cannot now.
func busy(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
}

// discard is an answer that nobody hears.
type discard struct{}

func (discard) Header() http.Header         { return make(http.Header) }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// cut is an answer that ends after so many bytes of its body, or at its end.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; err == nil && n < len(p) {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}
