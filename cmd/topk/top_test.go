package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answers are those that the tests of the topk exporter hold it to.
const answers = "../../exporter/topkexporter/testdata/answers"

func answer200(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(answers, name+".json"))
	require.NoError(t, err)
	return body
}

// startServer answers all that is asked by one answer.
func startServer(t *testing.T, name string) *httptest.Server {
	body := answer200(t, name)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	t.Cleanup(s.Close)
	return s
}

func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	code = run(t.Context(), args, &out, &problems)
	return code, out.String(), problems.String()
}

func TestListsAndCountsArePrinted(t *testing.T) {
	for _, row := range []struct {
		answer string
		args   []string
	}{
		{"trending", []string{"top"}},
		{"trending_composite", []string{"top"}},
		{"trending_missing", []string{"top", "--once"}},
		{"trending_unpublished", []string{"top"}},
		{"trending_group", []string{"top", "--output", "json"}},
		{"count_listed", []string{"count", "x"}},
		{"count_unlisted", []string{"count", "x"}},
		{"count_composite", []string{"count", "x"}},
		{"count_unpublished", []string{"count", "x"}},
	} {
		t.Run(row.answer, func(t *testing.T) {
			code, stdout, stderr := command(t, append(row.args, "--url", startServer(t, row.answer).URL)...)
			require.Zero(t, code, stderr)
			require.Empty(t, stderr)
			golden := filepath.Join("testdata", "server", row.answer+".txt")
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, []byte(stdout), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), stdout)
		})
	}
}

func TestWhatIsAskedIsWhatTheFlagsSay(t *testing.T) {
	var asked atomic.Pointer[http.Request]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r)
		_, _ = w.Write([]byte("{}"))
	}))
	defer s.Close()
	t.Setenv(urlVariable, s.URL+"/below")
	t.Setenv(authorizationVariable, "Bearer token")
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"top"}, "/below/v1/trending?"},
		{[]string{"top", "-k", "7", "--rule", "a b", "--group", ""}, "/below/v1/trending?group=&k=7&rule=a+b"},
		{[]string{"top", "--from", "1", "--to", "2", "--scope", "missing"}, "/below/v1/trending?from=1&scope=missing&to=2"},
		{[]string{"count", "a/b&c", "--window", "24h", "--at", "x"}, "/below/v1/count?at=x&key=a%2Fb%26c&window=24h"},
		{[]string{"count", "--", "-x"}, "/below/v1/count?key=-x"},
	} {
		code, _, stderr := command(t, row.args...)
		require.Zero(t, code, stderr)
		got := asked.Load()
		assert.Equal(t, row.want, got.URL.Path+"?"+got.URL.RawQuery)
		assert.Equal(t, "Bearer token", got.Header.Get("Authorization"))
	}
}

func TestWhatAServerRefusesIsSaid(t *testing.T) {
	for _, row := range []struct {
		status int
		body   string
		code   int
		want   string
	}{
		{http.StatusNotFound, `{"error": "rule: \"x\" is not served"}`, exitUsage, `answers 404 Not Found: rule: "x" is not served`},
		{http.StatusBadRequest, `{"error": "a\u001b[31mb"}`, exitUsage, `answers 400 Bad Request: "a\x1b[31mb"`},
		{http.StatusUnauthorized, "", exitFailed, "$TOPK_AUTHORIZATION is sent as the header Authorization"},
		{http.StatusBadGateway, "<html>", exitFailed, "answers 502 Bad Gateway"},
		{http.StatusOK, "<html>", exitFailed, "the answer is none of a topk exporter"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(row.status)
			_, _ = w.Write([]byte(row.body))
		}))
		for _, args := range [][]string{{"top"}, {"count", "x"}} {
			code, stdout, stderr := command(t, append(args, "--url", s.URL)...)
			assert.Equal(t, row.code, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, row.want)
		}
		s.Close()
		code, _, stderr := command(t, "top", "--url", s.URL)
		assert.Equal(t, exitFailed, code)
		assert.Contains(t, stderr, "connection refused")
	}
}

func TestTheAuthorityOfACertificateCanBeNamed(t *testing.T) {
	body := answer200(t, "trending")
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	defer s.Close()
	code, _, stderr := command(t, "top", "--url", s.URL)
	require.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "certificate")
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	code, _, stderr = command(t, "top", "--url", s.URL, "--ca-file", file)
	require.Zero(t, code, stderr)
}

func TestWrongFlagsOfServersSayWhatIsAllowed(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"top", "--url", "gateway:7070"}, `--url: "gateway:7070" is not the address of a server, such as http://localhost:7070`},
		{[]string{"top", "--timeout", "0s"}, "--timeout: 0s is not more than 0s"},
		{[]string{"top", "--every", "10ms"}, "--every: 10ms is less than 1s"},
		{[]string{"top", "--output", "xml"}, `--output: "xml" is neither table nor json`},
		{[]string{"top", "more"}, `argument "more": there are only flags`},
		{[]string{"top", "--ca-file", "testdata/rules.yaml"}, "--ca-file: testdata/rules.yaml has no certificate in PEM"},
		{[]string{"top", "--ca-file", "none.pem"}, "--ca-file: open none.pem"},
		{[]string{"count"}, "0 arguments: one KEY is asked for"},
		{[]string{"count", "a", "b"}, "2 arguments: one KEY is asked for"},
		{[]string{"count", "a", "--output", "xml"}, `--output: "xml" is neither table nor json`},
	} {
		code, stdout, stderr := command(t, row.args...)
		assert.Equal(t, exitUsage, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, row.want)
	}
}

// screens takes what is written to a terminal, a screen at a time.
type screens chan string

func (s screens) Write(screen []byte) (int, error) {
	s <- string(screen)
	return len(screen), nil
}

func TestALiveListOutlastsItsServer(t *testing.T) {
	s := startServer(t, "trending")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	from := serverFlags{url: s.URL, timeout: time.Second}
	server, err := from.server()
	require.NoError(t, err)
	shown, ended := make(screens), make(chan error)
	go func() { ended <- (&top{server: server, every: 10 * time.Millisecond}).live(ctx, shown) }()

	first := <-shown
	assert.True(t, strings.HasPrefix(first, home+erase))
	assert.Contains(t, first, "tenants, 5m")
	s.Close()
	for screen := range shown {
		assert.Contains(t, screen, "tenants, 5m", "the last list that it gave")
		if strings.Contains(screen, "connection refused") {
			break
		}
	}
	cancel()
	select {
	case <-shown:
		require.NoError(t, <-ended)
	case err := <-ended:
		require.NoError(t, err)
	}
}
