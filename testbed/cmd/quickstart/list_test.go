package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, status int, body string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAListIsPrintedAsATable(t *testing.T) {
	url := serve(t, http.StatusOK, `{"window":"5m","as_of":"2026-01-02T03:04:05Z","certified":true,"total":1234567,"items":[
		{"rank":1,"key":"tenant-1","estimate":100000,"lower":99999,"share":0.081,"certain":true},
		{"rank":2,"key":"\u001b[31mred","estimate":7,"lower":0,"share":0.0000056,"certain":false}]}`)
	l, err := fetch(t.Context(), url)
	require.NoError(t, err)
	var out strings.Builder
	l.print(&out)
	assert.Equal(t, `
The tenants with the most log records in 5m, as of 03:04:05 UTC, of 1 234 567 records:

  rank         tenant  at most  at least  share  in the top for certain
     1       tenant-1  100 000    99 999  8.1 %                     yes
     2  "\x1b[31mred"        7         0  0.0 %                      no

Certified, that is, no other key can belong in it: yes.
`, out.String())
}

func TestAListBeforeTheFirstRecord(t *testing.T) {
	l, err := fetch(t.Context(), serve(t, http.StatusOK, `{"window":"5m","as_of":null,"items":[]}`))
	require.NoError(t, err)
	var out strings.Builder
	l.print(&out)
	assert.Equal(t, "\nNothing counted yet.\n", out.String())
}

func TestAnAnswerThatIsNoListIsAnError(t *testing.T) {
	_, err := fetch(t.Context(), serve(t, http.StatusServiceUnavailable, ""))
	require.ErrorContains(t, err, "503")
	_, err = fetch(t.Context(), serve(t, http.StatusOK, "<html>"))
	require.Error(t, err)
}

func TestABusyPortIsNamedBeforeAnythingStarts(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	busy := listener.Addr().String()
	for _, opts := range []options{{api: busy, otlp: "localhost:0"}, {api: "localhost:0", otlp: busy}} {
		opts.log = filepath.Join(t.TempDir(), "log")
		err := run(t.Context(), opts, t.Output())
		require.ErrorContains(t, err, busy+" is in use")
		assert.NoFileExists(t, opts.log)
	}
}

func TestACollectorThatEndsIsExplainedByItsLog(t *testing.T) {
	script := filepath.Join(t.TempDir(), "collector")
	for _, tc := range []struct{ prints, want string }{
		{"listen tcp 127.0.0.1:7071: bind: address already in use", "a port it needs is in use: listen tcp 127.0.0.1:7071"},
		{"no such key", "log:\nno such key"},
	} {
		require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho '"+tc.prints+"'\nexit 1\n"), 0o755))
		opts := options{
			collector: script, api: "localhost:0", otlp: "localhost:0", patience: time.Minute,
			log: filepath.Join(t.TempDir(), "log"),
		}
		assert.ErrorContains(t, run(t.Context(), opts, t.Output()), tc.want)
	}
}
