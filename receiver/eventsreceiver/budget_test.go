package eventsreceiver

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
)

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// atEnd calls do when all was read.
type atEnd struct {
	io.Reader
	do func()
}

func (r atEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.do()
	}
	return n, err
}

// hostile bodies of about n bytes: each makes much of little.
func hostile(n int) map[string]string {
	many := func(event string) string { return "[" + strings.Repeat(event+",", n/(len(event)+1)) + "{}]" }
	fields := func(value string) string {
		var all []string
		for i := range 100 {
			all = append(all, fmt.Sprintf(`"%d":%s`, i, value))
		}
		return "{" + strings.Join(all, ",") + "}"
	}
	return map[string]string{
		"empty events":         many(`{}`),
		"no events":            many(`1`),
		"events as usual":      many(`{"key":"/checkout/a","region":"eu-west-1","event_time":1700000000,"user_hash":"0123456789abcdef","count":3}`),
		"one field":            many(`{"":1}`),
		"small fields":         many(fields(`1`)),
		"empty lists":          many(fields(`[]`)),
		"lists of one":         many(`{"a":[` + strings.Repeat(`[1],`, 60) + `1]}`),
		"lists of numbers":     many(`{"a":[` + strings.Repeat(`0,`, 120) + `1]}`),
		"lists of texts":       many(`{"a":[` + strings.Repeat(`"",`, 120) + `""]}`),
		"lists of nulls":       many(`{"a":[` + strings.Repeat(`null,`, 120) + `1]}`),
		"objects of one":       many(`{"a":[` + strings.Repeat(`{"":0},`, 60) + `1]}`),
		"long texts":           many(`{"a":"` + strings.Repeat("x", 60_000) + `"}`),
		"one event of nothing": `{"a":"` + strings.Repeat("x", n) + `"}`,
		"control characters":   many(`{"a":"` + strings.Repeat("\xff", 20_000) + `"}`),
	}
}

func TestMemoryStaysInItsBound(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.MaxEvents, cfg.Memory = mostEvents, 1<<40
	least := 1.0
	for name, body := range hostile(1 << 20) {
		held := freshShare(cfg)
		b := newBatch(cfg, held, time.Now())
		before := liveHeap()
		var within, after int64
		require.NoError(t, b.read(atEnd{strings.NewReader(body), func() { within = liveHeap() - before }}, false))
		after = liveHeap() - before
		t.Logf("%-20s takes %6.1f MB, counted %6.1f MB", name, float64(max(within, after))/1e6, float64(held.n)/1e6)
		assert.LessOrEqual(t, max(within, after), held.n+requestBytes, name)
		least = min(least, float64(held.n)/float64(max(within, after, 1)))
		runtime.KeepAlive(b)
		runtime.KeepAlive(&body)
	}
	assert.Less(t, least, 3.0, "else the bound says nothing")
}

func TestUnpackingStaysInItsBound(t *testing.T) {
	text := bytes.NewBufferString(`{"a":"`)
	r := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 3<<20 {
		fmt.Fprintf(text, "%x", r.Uint64())
	}
	text.WriteString(`"}`)
	for encoding, body := range packedAs(t, text.String()) {
		t.Run(encoding, func(t *testing.T) {
			var before, within int64
			next, err := consumer.NewLogs(func(context.Context, plog.Logs) error { within = liveHeap() - before; return nil })
			require.NoError(t, err)
			s := serve(t, func(c *Config) { allEncodings(c); c.MaxEventBytes = 16 << 20 }, next)
			s.post(typeJSON, `{"key":"warm"}`)
			before = liveHeap()
			status, _ := s.post(typeJSON, body, "Content-Encoding", encoding)
			require.Equal(t, http.StatusAccepted, status)
			bound := requestBytes + s.receiver.cfg.unpacking(encoding) + byteBytes*int64(text.Len()) + eventBytes + valueBytes
			t.Logf("takes %.1f MB, counted %.1f MB", float64(within)/1e6, float64(bound)/1e6)
			assert.LessOrEqual(t, within, bound)
			runtime.KeepAlive(&body)
		})
	}
}

func TestAConnectionStaysInItsBound(t *testing.T) {
	s := serve(t, nil, nil)
	s.post(typeJSON, "[]")
	before := liveHeap()
	const n = 200
	for range n {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nCookie: %s", path, strings.Repeat("x", headerBytes))
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return s.receiver.connections.Load() >= n }, 10*time.Second, time.Millisecond)
	each := (liveHeap() - before) / n
	t.Logf("takes %d bytes with the client's side of it, counted %d", each, plainBytes)
	assert.LessOrEqual(t, each, int64(plainBytes))
}

func TestRequestsBeyondTheMemoryAreToldToComeAgain(t *testing.T) {
	next := holding(t, true)
	s := serve(t, func(c *Config) { c.ServerConfig.MaxRequestBodySize, c.Memory, c.MaxEventBytes = 1<<20, 8<<20, 1<<20 }, next)
	large := `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`
	first, second := s.send(large), s.send(large)
	<-next.came
	select { // the other waits in the pipeline, too, or was refused: the budget holds one, and not quite two
	case <-next.came:
		s.receiver.budget.held.Add(1 << 20)
		defer s.receiver.budget.held.Add(-1 << 20)
	case answer := <-second:
		assert.Equal(t, "503 Service Unavailable", answer)
	case answer := <-first:
		assert.Equal(t, "503 Service Unavailable", answer)
	}
	answer, text := s.ask(http.MethodPost, path, strings.NewReader(large), "Content-Type", typeJSON)
	assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	assert.Equal(t, "1", answer.Header.Get("Retry-After"))
	assert.Contains(t, text, "other requests take all memory that `memory` allows; none of these events is taken, send them again")
	assert.Positive(t, s.counted("refused_requests")["busy"])
	close(next.may)
}

func TestARequestThatNeverFitsIsRefusedForGood(t *testing.T) {
	s := serve(t, func(c *Config) { c.ServerConfig.MaxRequestBodySize, c.Memory = 1<<20, 8<<20 }, nil)
	status, text := s.post(typeNDJSON, strings.Repeat(`{"a":[`+strings.Repeat("0,", 120)+"0]}\n", 1000))
	assert.Equal(t, http.StatusRequestEntityTooLarge, status)
	assert.Contains(t, text, "the request takes more memory than the 8388608 bytes that `memory` allows; send fewer events in one")
	assert.Equal(t, map[string]int64{"too_large": 1}, s.counted("refused_requests"))
	assert.Empty(t, s.records())
}

// Slow clients hold what they sent, not what they may send, so they leave room for others.
func TestSlowClientsLeaveRoom(t *testing.T) {
	s := serve(t, nil, nil)
	for range 300 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		w := bufio.NewWriter(c)
		_, err = fmt.Fprintf(w, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n[{}", path)
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	require.Eventually(t, func() bool { return s.receiver.budget.held.Load() >= 300*requestBytes }, 10*time.Second, time.Millisecond)
	status, _ := s.post(typeJSON, `{"key":"a"}`)
	assert.Equal(t, http.StatusAccepted, status)
}
