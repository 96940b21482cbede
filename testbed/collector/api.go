package collector

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/oracle"
)

// Get asks http://address/path and returns the status and the body.
func Get(t testing.TB, address, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// Telemetry is what the process says of itself in the Prometheus format.
func (c *Collector) Telemetry(t testing.TB) string {
	t.Helper()
	_, body := Get(t, c.Ports.Address(t, "telemetry"), "/metrics")
	return body
}

// Value is the last word of the first line of text that starts with name.
func Value(t testing.TB, text, name string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name) {
			words := strings.Fields(line)
			v, err := strconv.ParseFloat(words[len(words)-1], 64)
			require.NoError(t, err)
			return v
		}
	}
	t.Fatalf("no line starts with %q", name)
	return 0
}

// Get asks the API, which the configuration has at <api>.
func (c *Collector) Get(t testing.TB, path string) (int, string) {
	t.Helper()
	return Get(t, c.Ports.Address(t, "api"), path)
}

func (c *Collector) decode(t testing.TB, path string, answer any) {
	t.Helper()
	status, body := c.Get(t, path)
	require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	require.NoError(t, json.Unmarshal([]byte(body), answer), body)
}

// Trending asks for a list; the query is pairs of names and values.
func (c *Collector) Trending(t testing.TB, query ...string) *oracle.List {
	t.Helper()
	list := new(oracle.List)
	c.decode(t, "/v1/trending?"+encode(query), list)
	return list
}

// Count asks for one key; the query is pairs of names and values.
func (c *Collector) Count(t testing.TB, key string, query ...string) *oracle.Point {
	t.Helper()
	point := new(oracle.Point)
	c.decode(t, "/v1/keys/"+url.PathEscape(key)+"/count?"+encode(query), point)
	return point
}

func encode(query []string) string {
	values := make(url.Values)
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	return values.Encode()
}

// Find asks for a list, and returns nil where the API knows no such rule, window or group, or has nothing to say of it yet.
func (c *Collector) Find(t testing.TB, query ...string) *oracle.List {
	t.Helper()
	path := "/v1/trending?" + encode(query)
	status, body := c.Get(t, path)
	if status == http.StatusNotFound {
		return nil
	}
	list := new(oracle.List)
	require.Equal(t, http.StatusOK, status, "%s: %s", path, body)
	require.NoError(t, json.Unmarshal([]byte(body), list), body)
	if list.AsOf == nil {
		return nil
	}
	return list
}

// AwaitTotal asks for a list until it holds this total weight, and returns it.
func (c *Collector) AwaitTotal(t testing.TB, total uint64, query ...string) *oracle.List {
	t.Helper()
	var list *oracle.List
	Await(t, func() bool {
		list = c.Find(t, query...)
		return list != nil && list.Total == total
	}, func() string { return fmt.Sprintf("no list of %s with a total of %d: %+v", encode(query), total, list) })
	return list
}

// AwaitReporting asks for a list until so many shards count for it: one that was restarted is two until its first life is known
// to have ended.
func (c *Collector) AwaitReporting(t testing.TB, shards int, query ...string) {
	t.Helper()
	var list *oracle.List
	Await(t, func() bool {
		list = c.Find(t, query...)
		return list != nil && list.Coverage.Reporting == shards
	}, func() string { return fmt.Sprintf("no list of %s with %d reporting: %+v", encode(query), shards, list) })
}

// Await asks until the answer is yes.
func Await(t testing.TB, holds func() bool, what func() string) {
	t.Helper()
	AwaitFor(t, patience, holds, what)
}

// AwaitFor is Await for what takes longer.
func AwaitFor(t testing.TB, patience time.Duration, holds func() bool, what func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("after %v there is still %s", patience, what())
		}
		<-time.After(20 * time.Millisecond)
	}
}
