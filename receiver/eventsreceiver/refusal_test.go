package eventsreceiver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
)

func TestABodyThatIsDamagedUnderItsEncodingIsRefusedInClearWords(t *testing.T) {
	for encoding, packed := range packedAs(t, `[{"key":"a"}]`) {
		damaged := []byte(packed)
		damaged[len(damaged)-3] ^= 1 // in a checksum, after the last event, or in the event
		for name, body := range map[string]string{"damaged": string(damaged), "cut short": packed[:len(packed)-3], "not packed": `[{"key":"a"}]`, "half a header": packed[:1], "nothing": ""} {
			t.Run(encoding+", "+name, func(t *testing.T) {
				s := serve(t, allEncodings, nil)
				status, text := s.post(typeJSON, body, "Content-Encoding", encoding)
				assert.Equal(t, http.StatusBadRequest, status)
				assert.Regexp(t, `"error":"(the body cannot be read to its end: it is cut off, or is not what Content-Encoding says|after byte \d+: |the body is empty)`, text)
				assert.Empty(t, s.records())
				assert.Len(t, s.counted("refused_requests"), 1)
			})
		}
	}
}

// slow posts a body that never comes whole, and returns the answer.
func (s *service) slow(headers, begin string) (int, string) {
	s.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(s, err)
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%sContent-Length: 100\r\n\r\n%s", path, headers, begin)
	require.NoError(s, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(s, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(s, errors.Join(err, answer.Body.Close(), c.Close()))
	assert.True(s, answer.Close)
	return answer.StatusCode, string(text)
}

func TestABodyThatDoesNotComeInTimeIsTold(t *testing.T) {
	s := serve(t, func(c *Config) { c.ServerConfig.ReadTimeout = 100 * time.Millisecond }, nil)
	for name, tt := range map[string]struct{ headers, begin string }{
		"plain":          {"", "[{}"},
		"packed":         {"Content-Encoding: gzip\r\n", zipped(t, "[{},{}]")[:20]},
		"half a header":  {"Content-Encoding: gzip\r\n", "\x1f\x8b"},
		"nothing at all": {"", ""},
	} {
		status, text := s.slow(tt.headers, tt.begin)
		assert.Equal(t, http.StatusRequestTimeout, status, name)
		assert.Contains(t, text, `{"error":"the request did not come whole in the time that read_timeout allows`, name)
	}
	assert.Equal(t, map[string]int64{"timeout": 4}, s.counted("refused_requests"))
}

func TestABodyThatEndsBeforeItsLengthIsNoRequest(t *testing.T) {
	s := serve(t, nil, nil)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\nContent-Length: 100\r\n\r\n{}\n{}\n", path)
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(answer.Body.Close(), c.Close()))
	assert.Equal(t, http.StatusBadRequest, answer.StatusCode)
	assert.Empty(t, s.records())
	assert.Equal(t, map[string]int64{"body": 1}, s.counted("refused_requests"))
}

func TestEveryRefusalIsCountedByItsReasonAndSaysWhatHelps(t *testing.T) {
	s := serve(t, func(c *Config) { c.MaxEvents, c.ServerConfig.MaxRequestBodySize = 10, 4096 }, nil)
	for reason, tt := range map[string]struct {
		status             int
		method, path, body string
		headers            []string
		want               string
	}{
		"path":             {404, http.MethodPost, "/", `[]`, nil, "/ is not here; events go to /v1/events"},
		"method":           {405, http.MethodDelete, path, ``, nil, "DELETE is not allowed; allowed is POST"},
		"content_type":     {415, http.MethodPost, path, `[]`, []string{"Content-Type", "text/plain"}, `Content-Type: \"text/plain\", allowed is`},
		"content_encoding": {415, http.MethodPost, path, `[]`, []string{"Content-Encoding", "br"}, `Content-Encoding: \"br\", allowed by compression_algorithms is [\"\" \"gzip\" \"deflate\"]`},
		"body":             {400, http.MethodPost, path, `[]`, []string{"Content-Encoding", "gzip"}, "not what Content-Encoding says"},
		"no_events":        {400, http.MethodPost, path, `[`, nil, "after byte 1"},
		"too_large":        {413, http.MethodPost, path, `["` + strings.Repeat("x", 5000), nil, "max_request_body_size allows"},
		"too_many_events":  {413, http.MethodPost, path, `[` + strings.Repeat("{},", 20), nil, "max_events allows 10"},
	} {
		before := s.counted("refused_requests")[reason]
		answer, text := s.ask(tt.method, tt.path, strings.NewReader(tt.body), append([]string{"Content-Type", typeJSON}, tt.headers...)...)
		assert.Equal(t, tt.status, answer.StatusCode, reason)
		assert.Contains(t, text, tt.want, reason)
		assert.Equal(t, typeJSON, answer.Header.Get("Content-Type"))
		assert.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
		assert.Equal(t, map[bool]string{true: "POST"}[tt.status == 405], answer.Header.Get("Allow"))
		assert.Equal(t, before+1, s.counted("refused_requests")[reason], reason)
	}
	assert.Empty(t, s.records())
	assert.Empty(t, s.logged.FilterMessageSnippet("refuse").All(), "of what a client does wrong nothing is logged")
}

// pipeline refuses as it is told.
type pipeline struct {
	consumertest.LogsSink
	err error
}

func (p *pipeline) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	if p.err != nil {
		return p.err
	}
	return p.LogsSink.ConsumeLogs(ctx, ld)
}

func TestNothingIsAcceptedThatThePipelineDoesNotTake(t *testing.T) {
	var next pipeline
	s := serve(t, nil, &next)
	const event = `[{"key":"a"},7]`
	for range 2 {
		next.err = errors.New("private: full")
		answer, text := s.ask(http.MethodPost, path, strings.NewReader(event), "Content-Type", typeJSON)
		assert.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
		assert.Equal(t, "1", answer.Header.Get("Retry-After"))
		assert.Equal(t, `{"error":"the pipeline does not take events now; none of these is taken, send them again"}`, text)
		next.err = nil
		status, _ := s.post(typeJSON, event)
		assert.Equal(t, http.StatusAccepted, status)
		next.err = consumererror.NewPermanent(errors.New("private: no"))
		for range 3 {
			answer, text = s.ask(http.MethodPost, path, strings.NewReader(event), "Content-Type", typeJSON)
			assert.Equal(t, http.StatusInternalServerError, answer.StatusCode)
			assert.Empty(t, answer.Header.Get("Retry-After"))
			assert.Equal(t, `{"error":"the pipeline refuses these events for good; the collector's log says why"}`, text)
		}
	}
	assert.Equal(t, 2, next.LogRecordCount())
	assert.Equal(t, map[string]int64{"pipeline_for_now": 2, "pipeline_for_good": 6}, s.counted("refused_requests"))
	assert.Equal(t, map[string]int64{"json": 2}, s.counted("rejected"), "of accepted requests only")
	var said []string
	for _, entry := range s.logged.All()[1:] {
		said = append(said, fmt.Sprint(entry.Message, " ", entry.ContextMap()["for_good"]))
	}
	const refuses, takes = "The pipeline refuses events; clients are told ", "The pipeline takes events again <nil>"
	assert.Equal(t, []string{refuses + "false", takes, refuses + "true", refuses + "false", takes, refuses + "true"}, said, "each change once")
}

func TestAClientThatGoesAwayTakesItsEventsBackOrNot(t *testing.T) {
	came := make(chan struct{})
	next, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
		close(came)
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, err)
	s := serve(t, nil, next)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(`{}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", typeJSON)
	go func() { <-came; cancel() }()
	_, err = s.client.Do(r) //nolint:bodyclose // there is no answer
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool { return s.counted("refused_requests")["pipeline_for_now"] == 1 }, 10*time.Second, time.Millisecond)
}

// host has an extension.
type host struct{ auth component.Component }

func (h host) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("auth"): h.auth}
}

// guard lets one token in.
type guard struct {
	component.StartFunc
	component.ShutdownFunc
}

func (guard) Authenticate(ctx context.Context, sources map[string][]string) (context.Context, error) {
	for name, values := range sources {
		if strings.EqualFold(name, "Authorization") && values[0] == "Bearer good" {
			return ctx, nil
		}
	}
	return ctx, errors.New("private: who is that")
}

const fromPages = `
endpoint: %s
cors: {allowed_origins: ["https://shop.example"], allowed_headers: [Content-Type, Content-Encoding, Authorization], exposed_headers: [Retry-After], max_age: 600}
auth: {authenticator: auth}
`

// A browser asks first, without a token, and sends events then.
func TestPagesOfAllowedOriginsSendEventsAndOthersMayNot(t *testing.T) {
	s := serveOn(t, host{guard{}}, func(c *Config) { *c = *load(t, fmt.Sprintf(fromPages, c.ServerConfig.NetAddr.Endpoint)) }, nil)
	preflight := func(origin, method, headers string) http.Header {
		answer, _ := s.ask(http.MethodOptions, path, http.NoBody, "Origin", origin, "Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)
		assert.Equal(t, http.StatusNoContent, answer.StatusCode)
		return answer.Header
	}
	may := preflight("https://shop.example", "POST", "authorization,content-encoding,content-type")
	assert.Equal(t, "https://shop.example", may.Get("Access-Control-Allow-Origin"))
	assert.Equal(t, "true", may.Get("Access-Control-Allow-Credentials"), "sendBeacon always sends cookies")
	assert.Equal(t, "POST", may.Get("Access-Control-Allow-Methods"))
	assert.Equal(t, "authorization,content-encoding,content-type", may.Get("Access-Control-Allow-Headers"))
	assert.Equal(t, "600", may.Get("Access-Control-Max-Age"))
	for name, headers := range map[string]http.Header{
		"another origin": preflight("https://evil.example", "POST", "content-type"),
		"another method": preflight("https://shop.example", "DELETE", "content-type"),
		"another header": preflight("https://shop.example", "POST", "x-other"),
	} {
		assert.Empty(t, headers.Get("Access-Control-Allow-Origin"), name)
	}

	answer, text := s.ask(http.MethodPost, path, strings.NewReader(`{"key":"a"}`), "Content-Type", typeJSON, "Origin", "https://shop.example")
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	assert.Equal(t, `{"error":"this client may not send events: auth does not know it"}`, text)
	assert.Equal(t, "https://shop.example", answer.Header.Get("Access-Control-Allow-Origin"), "a script may read why")
	answer, _ = s.ask(http.MethodPost, path, strings.NewReader(`{"key":"a"}`), "Content-Type", typeJSON, "Origin", "https://shop.example", "Authorization", "Bearer good")
	assert.Equal(t, http.StatusAccepted, answer.StatusCode)
	assert.Equal(t, "Retry-After", answer.Header.Get("Access-Control-Expose-Headers"))
	assert.Equal(t, []string{none + `{"key":"a"}`}, s.records())
	assert.Equal(t, map[string]int64{"auth": 1}, s.counted("refused_requests"))
}
