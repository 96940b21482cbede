package trendreceiver

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// mostRefused is what a request that is refused may make the whole process allocate, bytes: a request of the largest size as it
// comes, unpacked, and grown to it.
const mostRefused = 160 << 20

func TestABombIsNotUnpacked(t *testing.T) {
	g := newGateway(t, nil)
	g.logs(newListPipeline())
	g.start()
	require.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 1})))
	zeros := map[string][]byte{
		"gzip": gzipped(t, make([]byte, 1<<20)), // both read on where one stream ends and another begins
		"zstd": zstded(t, make([]byte, 1<<20)),
	}
	for name, tt := range map[string]struct {
		encoding string
		body     []byte
	}{
		"4 GiB in gzip":                            {"gzip", bytes.Repeat(zeros["gzip"], 4096)},
		"4 GiB in zstd":                            {"zstd", bytes.Repeat(zeros["zstd"], 4096)},
		"a window of 512 MiB that zstd asks for":   {"zstd", []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x98, 0x03, 0x00, 0x10, 0x00}},
		"records of nothing, by the million, gzip": {"gzip", gzipped(t, emptyRecords(2<<20))},
		"records of nothing, by the million, zstd": {"zstd", zstded(t, emptyRecords(2<<20))},
	} {
		t.Run(name+", over gRPC", func(t *testing.T) {
			assert.Less(t, allocated(func() {
				assert.NotEqual(t, "0", g.call(tt.encoding, tt.body))
			}), uint64(mostRefused))
		})
		t.Run(name+", over HTTP", func(t *testing.T) {
			assert.Less(t, allocated(func() {
				assert.NotEqual(t, http.StatusOK, g.postAs("application/x-protobuf", tt.encoding, tt.body))
			}), uint64(mostRefused))
		})
	}
	assert.NoError(t, g.send(newShard(t, 1).counted(map[string]uint64{"a": 1})), "the gateway lives")
}

func TestARequestOfVeryManyFieldsIsNotDecoded(t *testing.T) {
	g := newGateway(t, nil)
	g.logs(newListPipeline())
	g.start()
	for name, tt := range map[string]struct {
		kind string
		body []byte
	}{
		"records":           {"application/x-protobuf", emptyRecords(maxFields)},
		"attributes":        {"application/x-protobuf", inside(bytes.Repeat([]byte{6<<3 | 2, 0}, maxFields), 2, 2, 1)},
		"nesting":           {"application/x-protobuf", inside(nested(1000), 5, 2, 2, 1)},
		"records in JSON":   {"application/json", []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + strings.Repeat("{},", maxFields) + `{}]}]}]}`)},
		"resources in JSON": {"application/json; charset=utf-8", []byte(`{"resourceLogs":[` + strings.Repeat("{},", maxFields) + `{}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, http.StatusBadRequest, g.postAs(tt.kind, "", tt.body))
			if tt.kind == "application/x-protobuf" {
				assert.Equal(t, "13", g.call("", tt.body), "an internal error, which no client repeats")
			}
		})
	}
	refused(t, g.observed, map[string]int64{"request": 8})
}

func TestFieldsAreCountedAllTheWayDown(t *testing.T) {
	for _, tt := range []struct {
		name string
		body []byte
		want int
	}{
		{"nothing", nil, 0},
		{"records", emptyRecords(10), 12},
		{"what is in a body of bytes is one value", inside(emptyRecords(10), 7, 5, 2, 2, 1), 5},
		{"a list in a body", inside(bytes.Repeat([]byte{1<<3 | 2, 0}, 10), 5, 5, 2, 2, 1), 15},
		{"a map in an attribute", inside(bytes.Repeat([]byte{1<<3 | 2, 0}, 10), 6, 2, 6, 2, 2, 1), 16},
	} {
		n, err := countFields(tt.body)
		require.NoError(t, err)
		assert.Equal(t, tt.want, n, tt.name)
	}
	_, err := countFields(emptyRecords(10)[:15])
	assert.ErrorIs(t, err, errRequest)
}

// inside puts b into the messages of these field numbers, the innermost first.
func inside(b []byte, numbers ...protowire.Number) []byte {
	for _, n := range numbers {
		b = protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	return b
}

func emptyRecords(n int) []byte { return inside(bytes.Repeat([]byte{2<<3 | 2, 0}, n), 2, 1) }

// nested is a value in a list in a list, and so on.
func nested(depth int) (value []byte) {
	for range depth {
		value = inside(value, 1, 5)
	}
	return value
}

func gzipped(t testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return w.EncodeAll(b, nil)
}

// allocated is what f makes the process allocate in all, bytes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// call sends a request over gRPC as it is written here, and returns the status.
func (g *gateway) call(encoding string, body []byte) string {
	transport := plainHTTP2()
	defer transport.CloseIdleConnections()
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	if encoding != "" {
		frame[0] = 1
	}
	req := g.rpc(bytes.NewReader(frame))
	req.Header.Set("Grpc-Encoding", encoding)
	resp, err := transport.RoundTrip(req)
	require.NoError(g, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(g, err)
	require.NoError(g, resp.Body.Close())
	if s := resp.Header.Get("Grpc-Status"); s != "" {
		return s
	}
	return resp.Trailer.Get("Grpc-Status")
}

func (g *gateway) rpc(body io.Reader) *http.Request {
	req, err := http.NewRequest(http.MethodPost,
		"http://"+g.endpoint("Starting GRPC server")+"/opentelemetry.proto.collector.logs.v1.LogsService/Export", body)
	require.NoError(g, err)
	req.Header = http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	return req
}

func plainHTTP2() *http.Transport {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return transport
}

// postAs sends a body over HTTP as it is written here, and returns the status, 0 if the gateway hung
// up instead.
func (g *gateway) postAs(kind, encoding string, body []byte) int {
	req, err := http.NewRequest(http.MethodPost, "http://"+g.endpoint("Starting HTTP server")+"/v1/logs", bytes.NewReader(body))
	require.NoError(g, err)
	req.Header = http.Header{"Content-Type": {kind}, "Content-Encoding": {encoding}}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0
	}
	require.NoError(g, resp.Body.Close())
	return resp.StatusCode
}
