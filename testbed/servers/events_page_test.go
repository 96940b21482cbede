package servers_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

const sends = `<!doctype html><body><p id="said">nothing</p><script>
const said = text => document.getElementById("said").textContent += " " + text;
const url = "http://localhost:7073/v1/events";
%s
said("text " + navigator.sendBeacon(url, '{"key": "a text"}'));
(async () => {
  const gzipped = await new Response(new Blob(['{"key": "/gzipped"}']).stream().pipeThrough(new CompressionStream("gzip"))).blob();
  for (const [headers, body] of [
    [{"Content-Type": "application/json"}, '[{"key": "/read"}, 7]'],
    [{"Content-Type": "application/json", "Content-Encoding": "gzip"}, gzipped],
    [{"Content-Type": "application/json", "X-Other": "not allowed"}, '{"key": "/other"}'],
  ]) {
    try {
      const answer = await fetch(url, {method: "POST", credentials: "include", headers, body});
      said(answer.status + " " + await answer.text());
    } catch (err) { said("failed"); }
  }
})();
</script>`

// What the events receiver's README says of browsers is so in one.
func TestPagesSendEvents(t *testing.T) {
	readme := examples.Read(t, "receiver/eventsreceiver/README.md")
	snippet := regexp.MustCompile("(?s)```js\n(.*?)```").FindStringSubmatch(readme)
	require.NotNil(t, snippet)
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/events/config.yaml",
		`receivers: {events: {cors: {allowed_headers: [Content-Type, Content-Encoding]}}}`), ports)
	page := strings.ReplaceAll(fmt.Sprintf(sends, snippet[1]), "localhost:7073", ports.Address(t, "events"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(server.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")

	dom := render(t, "http://localhost:"+port+"/")
	assert.Contains(t, dom, `text true 202 {"accepted":1,"rejected":[{"index":1,"error":"a number, only an object is an event"}],"rejected_total":1}`)
	assert.Contains(t, dom, `202 {"accepted":1,"rejected":[],"rejected_total":0}`)
	assert.Contains(t, dom, "failed</p>")
	list := c.AwaitTotal(t, 4, "rule", "keys", "window", "5m") // the two of the snippet, /read and /gzipped
	var keys []string
	for _, item := range list.Items {
		keys = append(keys, fmt.Sprint(item.Key, " ", item.Estimate))
	}
	assert.Equal(t, []string{"/checkout 2", "/gzipped 1", "/read 1"}, keys)
	assert.Regexp(t, `otelcol_receiver_events_refused_requests(_total)?\{[^}]*reason="content_type"[^}]*\} 1`, c.Telemetry(t), "the text")
}
