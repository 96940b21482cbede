package rule

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// exactAnswers are the lists that a script counted over the whole of a data set.
type exactAnswers struct {
	Streams []struct {
		Stream string
		Events int
		Keys   map[string]struct {
			Total, Distinct uint64
			Top10           [][2]any
		}
	}
}

// dataFile reads a file of the real data sets, unpacked; nil where the sets are not there.
func dataFile(t *testing.T, set, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", set, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	if filepath.Ext(name) != ".zst" {
		return raw
	}
	r, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer r.Close()
	raw, err = r.DecodeAll(raw, nil)
	require.NoError(t, err)
	return raw
}

func TestRealDataCountsAsTheScriptDid(t *testing.T) {
	logKeys := map[string]string{
		"service.name": `resource.attributes["service.name"]`, "telemetry.sdk.language": `resource.attributes["telemetry.sdk.language"]`,
		"severityText": "log.severity_text", "severityNumber": "log.severity_number", "body": "log.body", "scope.name": "scope.name",
		"userId": `log.attributes["userId"]`, "productId": `log.attributes["productId"]`, "code.function": `log.attributes["code.function"]`,
	}
	spanKeys := map[string]string{
		"service.name": `resource.attributes["service.name"]`, "k8s.pod.name": `resource.attributes["k8s.pod.name"]`,
		"k8s.node.name": `resource.attributes["k8s.node.name"]`, "name": "span.name", "kind": "span.kind", "status.code": "span.status.code",
		"grpc.method": `span.attributes["grpc.method"]`, "db.statement": `span.attributes["db.statement"]`,
		"peer.hostname": `span.attributes["peer.hostname"]`, "peer.port": `span.attributes["peer.port"]`,
		"http.url": `span.attributes["http.url"]`, "http.status_code": `span.attributes["http.status_code"]`,
	}

	lines := dataFile(t, "otlp-logs-loadgen", "logs.jsonl.zst")
	holdAgainstExact(t, "otlp-logs-loadgen", "logs", SignalLogs, logKeys, func(r *Rule, b *Batch) {
		for line := range bytes.Lines(lines) {
			ld, err := new(plog.JSONUnmarshaler).UnmarshalLogs(line)
			require.NoError(t, err)
			r.Logs(ld, testNow, b)
		}
	})

	framed := dataFile(t, "otlp-traces-hipstershop", "hipstershop-oteltraces.pb.zst")
	if framed == nil {
		return
	}
	td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(framed[4 : 4+binary.BigEndian.Uint32(framed)])
	require.NoError(t, err)
	holdAgainstExact(t, "otlp-traces-hipstershop", "spans", SignalTraces, spanKeys, func(r *Rule, b *Batch) { r.Traces(td, testNow, b) })
}

// holdAgainstExact counts each key of a stream exactly and compares totals, distinct keys and the first ten.
func holdAgainstExact(t *testing.T, set, stream, signal string, paths map[string]string, walk func(*Rule, *Batch)) {
	raw := dataFile(t, set, "exact.json")
	if raw == nil {
		return
	}
	var exact exactAnswers
	require.NoError(t, json.Unmarshal(raw, &exact))
	for _, s := range exact.Streams {
		if s.Stream != stream {
			continue
		}
		for key, want := range s.Keys {
			path, ok := paths[key]
			if !ok {
				require.Equal(t, "service_name", key, "only made of two parts")
				continue
			}
			t.Run(set+"/"+key, func(t *testing.T) {
				r := compiled(t, func(c *Config) { c.Key, c.Signals, c.MaxKeyBytes = []string{path}, []string{signal}, 16384 })
				var b Batch
				walk(r, &b)
				require.EqualValues(t, s.Events, uint64(len(b.Keys))+b.Skipped.MissingKey)

				counts, total := map[string]uint64{}, uint64(0)
				for _, k := range b.Keys {
					if k != "" { // the script leaves empty ones out
						counts[k]++
						total++
					}
				}
				require.Equal(t, want.Total, total)
				require.Len(t, counts, int(want.Distinct))
				require.Equal(t, want.Top10, firstTen(counts))
			})
		}
	}
}

func firstTen(counts map[string]uint64) (list [][2]any) {
	for k, n := range counts {
		list = append(list, [2]any{k, float64(n)})
	}
	slices.SortFunc(list, func(a, b [2]any) int {
		return cmp.Or(cmp.Compare(b[1].(float64), a[1].(float64)), cmp.Compare(a[0].(string), b[0].(string)))
	})
	return list[:min(10, len(list))]
}
