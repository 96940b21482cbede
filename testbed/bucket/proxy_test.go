package bucket

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// objects is a server that keeps what arrives whole.
type objects struct{ kept sync.Map }

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if body, err := io.ReadAll(r.Body); r.Method == http.MethodPut && err == nil {
		o.kept.Store(r.URL.Path, body)
	}
	if body, ok := o.kept.Load(r.URL.Path); ok {
		_, _ = w.Write(body.([]byte))
	}
}

func TestTheProxyDoesWhatItIsToldTo(t *testing.T) {
	o := new(objects)
	to := httptest.NewServer(o)
	defer to.Close()
	p := NewProxy(t, collector.NewPorts().Address(t, "proxy"), strings.TrimPrefix(to.URL, "http://"), 1)
	content := bytes.Repeat([]byte("content "), 1000)
	put := func(path string) (status int, answer []byte, err error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+p.Address+"/"+url.PathEscape(path), bytes.NewReader(content))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, nil, err
		}
		defer response.Body.Close()
		answer, err = io.ReadAll(response.Body)
		return response.StatusCode, answer, err
	}
	for _, c := range []struct {
		fate            string
		arrives, breaks bool
		status          int
	}{
		{Passed, true, false, http.StatusOK},
		{Slow, true, false, http.StatusOK},
		{Busy, false, false, http.StatusServiceUnavailable},
		{Lied, true, false, http.StatusServiceUnavailable},
		{CutAnswer, true, true, http.StatusOK},
		{CutRequest, false, true, 0},
	} {
		p.Deal(c.fate)
		status, answer, err := put(c.fate)
		assert.Equal(t, c.breaks, err != nil, "%s: %v", c.fate, err)
		assert.Equal(t, c.status, status, c.fate)
		assert.Equal(t, c.status == http.StatusOK && !c.breaks, bytes.Equal(content, answer), c.fate)
		kept, arrived := o.kept.Load("/" + c.fate)
		assert.Equal(t, c.arrives, arrived, c.fate)
		if arrived {
			assert.Equal(t, content, kept, c.fate)
		}
		assert.Equal(t, 1, p.Counts()[c.fate])
	}
}
