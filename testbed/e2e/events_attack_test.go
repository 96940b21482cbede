package e2e

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

const (
	idleClients = 100 // of each kind that holds a connection and sends next to nothing
	attacks     = 40  // of each kind that sends what is none
)

// attackers of an address; each ends by itself.
type attackers struct {
	sync.WaitGroup
	address string
	client  http.Client
	bombs   map[string]string // by Content-Encoding
}

func newAttackers(t *testing.T, address string) *attackers {
	a := &attackers{address: address, client: http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 20}}, bombs: map[string]string{}}
	t.Cleanup(a.client.CloseIdleConnections)
	nothing := []byte(`["` + strings.Repeat(" ", 64<<20) + `"]`)
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := zip.Write(nothing)
	require.NoError(t, errors.Join(err, zip.Close()))
	a.bombs["gzip"] = b.String()
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(8<<20))
	require.NoError(t, err)
	a.bombs["zstd"] = string(z.EncodeAll(nothing, nil))
	return a
}

// post what is no event, and forget the answer.
func (a *attackers) post(kind, encoding, body string) {
	r, err := http.NewRequest(http.MethodPost, "http://"+a.address+"/v1/events", strings.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Content-Encoding", encoding)
	answer, err := a.client.Do(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// hold a connection that sent some bytes until the server ends it, or cut it off at once.
func (a *attackers) hold(begin string, cut bool) {
	c, err := net.Dial("tcp", a.address)
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, begin)
	if cut {
		_ = c.(*net.TCPConn).SetLinger(0) // the end of a machine
		return
	}
	_, _ = io.Copy(io.Discard, c)
}

// kill a client with kill -9 that has sent half a body.
func (a *attackers) kill() {
	curl := exec.Command("curl", "-s", "-T", "-", "-X", "POST", "-H", "Content-Type: application/x-ndjson", "http://"+a.address+"/v1/events")
	in, err := curl.StdinPipe()
	if err != nil || curl.Start() != nil {
		return
	}
	_, _ = io.WriteString(in, strings.Repeat(`{"key":"of a client that was killed"}`+"\n", 1000))
	<-time.After(200 * time.Millisecond)
	_ = curl.Process.Kill()
	_ = curl.Wait()
}

func (a *attackers) attack() {
	const head = "POST /v1/events HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
	for range idleClients {
		a.Go(func() { a.hold(head[:40], false) })
		a.Go(func() { a.hold(head+"Content-Length: 4000000\r\n\r\n[{},", false) })
	}
	for range 10 {
		a.Go(a.kill)
	}
	many := "[" + strings.Repeat(`{"a":[`+strings.Repeat("0,", 120)+"0]},", 9000) + "{}]"
	for range 8 {
		a.Go(func() {
			for range attacks / 8 {
				for encoding, bomb := range a.bombs {
					a.post("application/json", encoding, bomb)
				}
				a.post("application/json", "", many)
				a.post("text/plain", "", "[{}]")
				a.post("application/json", "gzip", "[{}]")
				a.post("application/json", "", strings.Repeat("[", 1<<20))
				a.post("application/x-ndjson", "", strings.Repeat("\x00\xff\n", 5000))
				a.hold(head+"Content-Length: 4000\r\n\r\n[{},", true)
				a.hold("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", true)
			}
		})
	}
}

var boundSaid = regexp.MustCompile(`Taking events.*"memory_bound_bytes": (\d+)`)

// Whoever sends slowly, sends bombs or leaves half-way takes no more memory than was said at the start, and others are answered: what is accepted
// of them is counted, once.
func TestHostileClientsOfEventsHarmNobodyElse(t *testing.T) {
	config := examples.Load(t, "examples/events/config.yaml",
		"receivers: {events: {read_timeout: 4s, memory: 67108864, max_connections: 300, compression_algorithms: ['', gzip, zstd]}}")
	ports := collector.NewPorts()
	c := collector.Start(t, config, ports)
	said := boundSaid.FindStringSubmatch(c.Output())
	require.NotNil(t, said, c.Output())
	bound, err := strconv.ParseFloat(said[1], 64)
	require.NoError(t, err)

	a := newAttackers(t, ports.Address(t, "events"))
	resident := func() float64 { return collector.Value(t, c.Telemetry(t), "otelcol_process_memory_rss") }
	before, most := resident(), 0.0
	a.attack()
	over := make(chan struct{})
	go func() { a.Wait(); close(over) }()
	accepted, refused := uint64(0), 0
	good := http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for attacked := true; attacked || accepted < 100; {
		select {
		case <-over:
			attacked = false
		default:
		}
		answer, err := good.Post("http://"+a.address+"/v1/events", "application/json", strings.NewReader(`{"key":"good"}`))
		if err == nil && answer.StatusCode == http.StatusAccepted {
			accepted++
		} else {
			refused++
			require.NoError(t, err, "with fewer clients than max_connections none is turned away")
			require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
		}
		require.NoError(t, answer.Body.Close())
		most = max(most, resident())
	}
	t.Logf("accepted %d, told to come again %d; resident %.0f MB, at most %.0f MB; bound %.0f MB", accepted, refused, before/1e6, most/1e6, bound/1e6)
	assert.Greater(t, accepted, uint64(4*refused), "others are answered")
	assert.LessOrEqual(t, most-before, 2*bound, "the garbage collector lets the heap grow to twice of what lives")

	list := c.AwaitTotal(t, accepted, "rule", "keys", "window", "1h")
	require.Len(t, list.Items, 1)
	assert.Equal(t, accepted, list.Items[0].Estimate)
	assert.NotContains(t, c.Output(), "panic")
	metrics := c.Telemetry(t)
	for _, reason := range []string{"timeout", "too_large", "body", "content_type", "no_events"} {
		assert.Regexp(t, fmt.Sprintf(`otelcol_receiver_events_refused_requests(_total)?\{[^}]*reason="%s"`, reason), metrics)
	}
}
