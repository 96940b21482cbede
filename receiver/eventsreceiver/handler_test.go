package eventsreceiver

import (
	"bytes"
	"context"
	"encoding/json"
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
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/receiver/eventsreceiver/internal/metadatatest"
)

// service is a receiver that listens.
type service struct {
	testing.TB
	url      string
	sink     *consumertest.LogsSink
	receiver *events
	measured *componenttest.Telemetry
	logged   *observer.ObservedLogs
	client   *http.Client
}

func serve(t testing.TB, change func(*Config), next consumer.Logs) *service {
	t.Helper()
	return serveOn(t, componenttest.NewNopHost(), change, next)
}

func serveOn(t testing.TB, host component.Host, change func(*Config), next consumer.Logs) *service {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	free, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	cfg.ServerConfig.NetAddr.Endpoint = free.Addr().String()
	require.NoError(t, free.Close())
	if change != nil {
		change(cfg)
	}
	require.NoError(t, cfg.Validate())
	s := &service{TB: t, url: "http://" + cfg.ServerConfig.NetAddr.Endpoint, sink: new(consumertest.LogsSink), measured: componenttest.NewTelemetry(), client: new(http.Client)}
	s.client.Transport = new(http.Transport)
	if next == nil {
		next = s.sink
	}
	set := metadatatest.NewSettings(s.measured)
	set.Logger, s.logged = observed()
	r, err := NewFactory().CreateLogs(t.Context(), set, cfg, next)
	require.NoError(t, err)
	s.receiver = r.(*events)
	require.NoError(t, r.Start(t.Context(), host))
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		require.NoError(t, r.Shutdown(context.Background()))
		require.Zero(t, s.receiver.budget.held.Load(), "memory that nothing holds any more")
		require.NoError(t, s.measured.Shutdown(context.Background()))
	})
	return s
}

func observed() (*zap.Logger, *observer.ObservedLogs) {
	core, logged := observer.New(zap.InfoLevel)
	return zap.New(core), logged
}

func (s *service) post(kind, body string, headers ...string) (int, string) {
	s.Helper()
	return s.call(http.MethodPost, path, kind, strings.NewReader(body), headers...)
}

func (s *service) call(method, path, kind string, body io.Reader, headers ...string) (int, string) {
	s.Helper()
	answer, text := s.ask(method, path, body, append([]string{"Content-Type", kind}, headers...)...)
	require.Equal(s, typeJSON, answer.Header.Get("Content-Type"))
	require.True(s, json.Valid([]byte(text)))
	return answer.StatusCode, text
}

// reply is an answer whose body was read.
type reply struct {
	StatusCode int
	Header     http.Header
	Close      bool
}

// ask is call for answers that are no JSON, with what is in their headers.
func (s *service) ask(method, path string, body io.Reader, headers ...string) (reply, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, body)
	require.NoError(s, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.client.Do(r)
	require.NoError(s, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(s, errors.Join(err, answer.Body.Close()))
	return reply{answer.StatusCode, answer.Header, answer.Close}, strings.TrimSpace(string(text))
}

// counted is what a counter of this component says, by reason.
func (s *service) counted(name string) map[string]int64 {
	s.Helper()
	all := map[string]int64{}
	m, err := s.measured.GetMetric("otelcol_receiver_events_" + name)
	if err != nil { // nothing was counted
		return all
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		reason, _ := p.Attributes.Value("reason")
		all[reason.AsString()] = p.Value
	}
	return all
}

// records that came, as text.
func (s *service) records() (all []string) {
	for _, ld := range s.sink.AllLogs() {
		for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
			fields, err := json.Marshal(lr.Attributes().AsRaw())
			require.NoError(s, err)
			all = append(all, fmt.Sprint(lr.Timestamp().AsTime().Format(time.RFC3339Nano), " ", string(fields)))
			require.NotZero(s, lr.ObservedTimestamp())
		}
	}
	return all
}

const none = "1970-01-01T00:00:00Z "

func TestEventsBecomeRecords(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, body string
		want       []string
	}{
		"an array": {
			typeJSON, `[{"key":"a","region":"eu","event_time":"2026-01-02T15:04:05.25Z","user_hash":"x","count":3}, {"key":"b"}]`,
			[]string{`2026-01-02T15:04:05.25Z {"count":3,"key":"a","region":"eu","user_hash":"x"}`, none + `{"key":"b"}`},
		},
		"one":                     {typeJSON + "; charset=utf-8", ` {"key":""} `, []string{none + `{"key":""}`}},
		"lines":                   {typeNDJSON, "{\"key\":\"a\"}\r\n\n  \n{\"key\":\"b\"}", []string{none + `{"key":"a"}`, none + `{"key":"b"}`}},
		"no event":                {typeJSON, `[]`, nil},
		"no line":                 {typeNDJSON, "\n", nil},
		"every type":              {typeJSON, `{"a":1,"b":1.5,"c":true,"d":null,"e":[1,"x",null,[2]],"f":{"g":{"h":"i"}}}`, []string{none + `{"a":1,"b":1.5,"c":true,"e":[1,"x",null,[2]],"f":{"g":{"h":"i"}}}`}},
		"large numbers":           {typeJSON, `{"a":9223372036854775807,"b":9223372036854775808}`, []string{none + `{"a":9223372036854775807,"b":9223372036854776000}`}},
		"seconds":                 {typeJSON, `{"event_time":1700000000}`, []string{"2023-11-14T22:13:20Z {}"}},
		"seconds and parts":       {typeJSON, `{"event_time":1700000000.5}`, []string{"2023-11-14T22:13:20.5Z {}"}},
		"milliseconds":            {typeJSON, `{"event_time":1700000000123}`, []string{"2023-11-14T22:13:20.123Z {}"}},
		"microseconds":            {typeJSON, `{"event_time":1700000000123456}`, []string{"2023-11-14T22:13:20.123456Z {}"}},
		"nanoseconds":             {typeJSON, `{"event_time":1700000000123456789}`, []string{"2023-11-14T22:13:20.123456789Z {}"}},
		"another zone":            {typeJSON, `{"event_time":"2026-01-02T15:04:05+02:00"}`, []string{"2026-01-02T13:04:05Z {}"}},
		"no time":                 {typeJSON, `{"event_time":null}`, []string{none + `{}`}},
		"text that is no UTF-8":   {typeJSON, "{\"key\":\"a\xffb\"}", []string{none + `{"key":"a` + "\uFFFD" + `b"}`}},
		"hostile text":            {typeJSON, `{"key":"<script>\u0000\u202e"}`, []string{none + `{"key":"\u003cscript\u003e\u0000` + "\u202e" + `"}`}},
		"the same name elsewhere": {typeJSON, `{"a":{"a":1}}`, []string{none + `{"a":{"a":1}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, nil, nil)
			status, body := s.post(tt.kind, tt.body)
			assert.Equal(t, http.StatusAccepted, status)
			assert.Equal(t, fmt.Sprintf(`{"accepted":%d,"rejected":[],"rejected_total":0}`, len(tt.want)), body)
			assert.Equal(t, tt.want, s.records())
		})
	}
}

func TestABadEventIsRejectedByItselfAndSaysWhy(t *testing.T) {
	for name, tt := range map[string]struct{ event, want string }{
		"no object":           {`7`, "a number, only an object is an event"},
		"null":                {`null`, "null, only an object is an event"},
		"an array":            {`[]`, "an array, only an object is an event"},
		"a field twice":       {`{"a":1,"a":2}`, `field "a": twice`},
		"a time twice":        {`{"event_time":1,"event_time":2}`, `field "event_time": twice`},
		"a time that is none": {`{"event_time":"yesterday"}`, `field "event_time": "yesterday" is no time`},
		"a time of noise":     {`{"event_time":"` + strings.Repeat("x", 1000) + `"}`, `field "event_time": "` + strings.Repeat("x", 63) + "... is no time"},
		"a time before 1970":  {`{"event_time":-5}`, `field "event_time": -5 is no time`},
		"1970":                {`{"event_time":0}`, `field "event_time": 0 is no time`},
		"a time past 2262":    {`{"event_time":1e19}`, `field "event_time": 1e19 is no time`},
		"the year 9999":       {`{"event_time":"9999-01-02T15:04:05Z"}`, "is no time"},
		"a time that is true": {`{"event_time":true}`, `a bool is no time`},
		"a number past all":   {`{"a":1e999}`, `field "a": 1e999 is beyond the largest number`},
		"values in values":    {`{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, `field "a": values in values, at most 16 deep`},
		"objects in objects":  {strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), `values in values, at most 16 deep`},
		"too many fields":     {`{"a":[` + strings.Repeat("1,", 200) + `1]}`, "more values than the 128 that max_fields allows"},
		"too many bytes":      {`{"a":"` + strings.Repeat("x", 70_000) + `"}`, "70008 bytes, max_event_bytes allows 65536"},
		"too many nulls":      {`{"b":[` + strings.Repeat("null,", 200) + `1]}`, "more values than"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, nil, nil)
			for _, c := range []struct{ kind, body string }{
				{typeJSON, `[{"key":"before"},` + tt.event + `,{"key":"after"}]`},
				{typeNDJSON, "{\"key\":\"before\"}\n" + tt.event + "\n{\"key\":\"after\"}\n"},
			} {
				s.sink.Reset()
				status, body := s.post(c.kind, c.body)
				assert.Equal(t, http.StatusAccepted, status)
				var got answer
				require.NoError(t, json.Unmarshal([]byte(body), &got))
				assert.Equal(t, 2, got.Accepted)
				assert.Equal(t, 1, got.RejectedTotal)
				require.Len(t, got.Rejected, 1)
				assert.Equal(t, 1, got.Rejected[0].Index)
				assert.Contains(t, got.Rejected[0].Error, tt.want)
				assert.Equal(t, []string{none + `{"key":"before"}`, none + `{"key":"after"}`}, s.records())
			}
		})
	}
}

func TestABadLineIsRejectedByItself(t *testing.T) {
	s := serve(t, nil, nil)
	status, body := s.post(typeNDJSON, "{\"key\":\n{\"key\":1}}\n{]\n{\"key\":\"a\"}")
	assert.Equal(t, http.StatusAccepted, status)
	assert.Contains(t, body, `"accepted":1,"rejected":[{"index":0,"error":"it ends within the event"},{"index":1,"error":"`)
	assert.Contains(t, body, `"rejected_total":3`)
}

func TestARequestThatIsNoneIsRefusedAsAWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path, kind, body string
		status                   int
		want                     string
	}{
		"another path":    {http.MethodPost, "/v1/event", typeJSON, `[]`, 404, "events go to /v1/events"},
		"read":            {http.MethodGet, path, typeJSON, "", 405, "GET is not allowed; allowed is POST"},
		"a form":          {http.MethodPost, path, "application/x-www-form-urlencoded", "a=b", 415, "allowed is application/json"},
		"text":            {http.MethodPost, path, "text/plain", "[]", 415, "allowed is application/json"},
		"nothing":         {http.MethodPost, path, typeJSON, " ", 400, "the body is empty"},
		"no JSON":         {http.MethodPost, path, typeJSON, `[{"a":1},{]`, 400, "after byte 9: no JSON"},
		"cut short":       {http.MethodPost, path, typeJSON, `[{"a":1},`, 400, "the body ends within the events"},
		"something after": {http.MethodPost, path, typeJSON, `[{"a":1}] {}`, 400, "something follows the end of the events"},
		"too many events": {http.MethodPost, path, typeNDJSON, strings.Repeat("{}\n", 11), 413, "max_events allows 10"},
		"too many bytes":  {http.MethodPost, path, typeJSON, `["` + strings.Repeat("x", 5000) + `"]`, 413, "max_request_body_size"},
		"too long a line": {http.MethodPost, path, typeNDJSON, strings.Repeat("x", 5000), 413, "max_request_body_size"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(c *Config) { c.MaxEvents, c.ServerConfig.MaxRequestBodySize = 10, 4096 }, nil)
			status, body := s.call(tt.method, tt.path, tt.kind, strings.NewReader(tt.body))
			assert.Equal(t, tt.status, status)
			assert.Contains(t, body, `{"error":"`)
			assert.Contains(t, body, tt.want)
			assert.Empty(t, s.records())
		})
	}
}

func TestAnAnswerNamesTheFirstRejectedEvents(t *testing.T) {
	s := serve(t, nil, nil)
	_, body := s.post(typeNDJSON, strings.Repeat("1\n", 1000))
	var got answer
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	assert.Zero(t, got.Accepted)
	assert.Len(t, got.Rejected, namedRejections)
	assert.Equal(t, 1000, got.RejectedTotal)
}

// freshShare of a budget that nobody else uses.
func freshShare(cfg *Config) *share { return &share{of: &budget{most: cfg.Memory}} }

// FuzzEvents: whatever comes, each event is a record or rejected, or the request is refused, and what is taken travels.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{`[{"key":"a","event_time":1700000000,"x":[{"y":null}]}]`, "{}\n{\"a\":1}\n", `[`, `[1,2,{}]`, "\xff", `{"a":1e400}`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	cfg := createDefaultConfig().(*Config)
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		b := newBatch(cfg, freshShare(cfg), time.Unix(1, 0))
		if b.read(bytes.NewReader(body), lines) != nil {
			return
		}
		require.Equal(t, b.n, b.accepted()+b.rejectedTotal)
		_, err := (&plog.ProtoMarshaler{}).MarshalLogs(b.logs)
		require.NoError(t, err)
	})
}
