package archive

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/seal"
)

// sample is a small file with something in every column.
func sample(t testing.TB, signal string) []byte {
	ld, td := plog.NewLogs(), ptrace.NewTraces()
	for i := range 3 {
		rl, rs := ld.ResourceLogs().AppendEmpty(), td.ResourceSpans().AppendEmpty()
		rl.SetSchemaUrl("https://schema/1")
		rl.Resource().Attributes().PutStr("cloud.region", fmt.Sprintf("region-%d", i%2))
		rl.Resource().Attributes().PutInt("process.pid", int64(i))
		rl.Resource().CopyTo(rs.Resource())
		sl, ss := rl.ScopeLogs().AppendEmpty(), rs.ScopeSpans().AppendEmpty()
		sl.Scope().SetName("scope")
		sl.Scope().Attributes().PutBool("b", true)
		sl.Scope().CopyTo(ss.Scope())
		for j := range 20 {
			r := sl.LogRecords().AppendEmpty()
			r.SetTimestamp(pcommon.Timestamp(1767366000_000000000 + int64(j)*1_000_037))
			r.SetObservedTimestamp(r.Timestamp() + 5)
			r.SetSeverityText("INFO")
			r.SetTraceID([16]byte{byte(i), byte(j), 1})
			r.Body().SetStr(fmt.Sprintf("body %d", j))
			a := r.Attributes()
			a.PutStr("tenant.id", fmt.Sprintf("tenant-%d", j))
			a.PutInt("status", int64(200+j))
			a.PutEmptyMap("nested").PutStr("k", "v")
			if j == 7 {
				r.Body().SetStr("not UTF-8: \xff")
			}
			s := ss.Spans().AppendEmpty()
			s.SetStartTimestamp(r.Timestamp())
			s.SetEndTimestamp(r.Timestamp() + 1000)
			s.SetName("GET /")
			a.CopyTo(s.Attributes())
			for range j % 3 {
				e := s.Events().AppendEmpty()
				e.SetName("exception")
				e.Attributes().PutStr("exception.type", "E")
				k := s.Links().AppendEmpty()
				k.SetSpanID([8]byte{1, byte(j)})
				k.Attributes().PutInt("n", 1)
			}
		}
	}
	columns := mustColumns(t, `log.attributes["tenant.id"]`, `span.attributes["tenant.id"]`, `resource.attributes["cloud.region"]`)
	meta := Meta{Signal: signal, Hour: HourOf(1767366000_000000000), Shard: "a", Segment: "0123456789abcdef", Columns: columns}
	return file(t, meta, []request{{ld, td, 7}})
}

// readAll reads a file to its end.
func readAll(t testing.TB, data []byte, needs rule.Needs) (lines []line, err error) {
	r, err := NewReader(inMemory(data))
	if err != nil {
		return nil, err
	}
	for b, err := range r.Batches(t.Context(), needs) {
		if err != nil {
			return lines, err
		}
		if r.Meta().Signal == rule.SignalLogs {
			lines = append(lines, logLines(b.Logs, b.Now)...)
		} else {
			lines = append(lines, spanLines(b.Traces, b.Now)...)
		}
	}
	return lines, nil
}

var everything = rule.Needs{Whole: true, Size: true}

func TestAChangedByteIsNeverCounted(t *testing.T) {
	for _, signal := range []string{rule.SignalLogs, rule.SignalTraces} {
		t.Run(signal, func(t *testing.T) {
			data := sample(t, signal)
			want, err := readAll(t, data, everything)
			require.NoError(t, err)
			require.Len(t, want, 60)
			for i := int64(0); i < int64(len(data)); i += 29 {
				changed := bytes.Clone(data)
				changed[i] ^= 1 << (i % 8)
				found, err := readAll(t, changed, everything)
				require.Less(t, len(found), len(want))
				require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign), "byte %d: %v", i, err)
			}
		})
	}
}

func TestACutFileIsDamaged(t *testing.T) {
	data := sample(t, rule.SignalLogs)
	for n := 0; n < len(data); n += 1 + len(data)/500 {
		_, err := NewReader(inMemory(data[:n]))
		require.ErrorIs(t, err, ErrDamaged, n)
	}
	_, err := NewReader(inMemory(append(bytes.Clone(data), 0)))
	require.ErrorIs(t, err, ErrDamaged)
	// A file that grew shorter while it was read.
	shrinks := &cut{Object: inMemory(data), from: int64(len(data))}
	r, err := NewReader(shrinks)
	require.NoError(t, err)
	shrinks.from = 100
	for _, err := range r.Batches(t.Context(), everything) {
		require.ErrorIs(t, err, ErrDamaged)
	}
}

func TestForeignFiles(t *testing.T) {
	type row struct{ A string }
	var foreign bytes.Buffer
	require.NoError(t, parquet.Write(&foreign, []row{{"x"}}))
	for situation, data := range map[string][]byte{
		"text":            []byte("a,b,c\n1,2,3\n4,5,6\n"),
		"another Parquet": foreign.Bytes(),
	} {
		_, err := NewReader(inMemory(data))
		require.ErrorIs(t, err, ErrForeign, situation)
	}
	data := sample(t, rule.SignalLogs)
	newer := bytes.Replace(bytes.Clone(data), []byte(versionKey+"\x18\x011"), []byte(versionKey+"\x18\x012"), 1)
	_, err := NewReader(inMemory(sealAgain(newer)))
	require.ErrorIs(t, err, ErrForeign)
	require.ErrorContains(t, err, `otel-topk.version is "2", known is 1`)
}

// cut is an object that ends early.
type cut struct {
	Object
	from int64
}

func (c *cut) ReadAt(p []byte, offset int64) (int, error) {
	n, err := c.Object.ReadAt(p[:min(int64(len(p)), max(0, c.from-offset))], offset)
	if n < len(p) && err == nil {
		err = io.EOF
	}
	return n, err
}

// sealAgain gives a changed file the hashes that fit it, as only one who means to does. It wants a file of one block.
func sealAgain(data []byte) []byte {
	at := bytes.LastIndex(data, []byte(seal.SealKey+"\x18 "))
	if at < 0 || len(data) < at+len(seal.SealKey)+2+32 {
		return data
	}
	at += len(seal.SealKey) + 2
	end, err := strconv.ParseInt(string(data[at:at+16]), 16, 64)
	if err != nil || end < 0 || end > int64(at) || end > seal.BlockBytes {
		return data
	}
	if blocks := bytes.LastIndex(data, []byte(seal.BlocksKey+"\x18\x0c")); blocks >= 0 {
		sum := xxh3.Hash(data[:end])
		base64.StdEncoding.Encode(data[blocks+len(seal.BlocksKey)+2:], binary.BigEndian.AppendUint64(nil, sum))
	}
	copy(data[at+16:], "----------------")
	copy(data[at+16:], fmt.Sprintf("%016x", xxh3.Hash(data[end:])))
	return data
}

// FuzzDamaged changes some bytes of a file, and perhaps gives it the hashes that fit.
func FuzzDamaged(f *testing.F) {
	samples := [][]byte{sample(f, rule.SignalLogs), sample(f, rule.SignalTraces)}
	for i := range 40 {
		f.Add(i%2 == 0, uint32(i*300), []byte{1 << (i % 8)}, uint32(0), i%4 < 3)
	}
	f.Fuzz(func(t *testing.T, spans bool, at uint32, flips []byte, cut uint32, sealed bool) {
		data := samples[0]
		if spans {
			data = samples[1]
		}
		data = bytes.Clone(data)
		for i, flip := range flips {
			data[(int(at)+i)%len(data)] ^= flip
		}
		data = data[:len(data)-int(cut)%len(data)]
		if sealed {
			data = sealAgain(data)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll(t, data, everything)
		runtime.ReadMemStats(&after)
		if err != nil {
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign), "%v", err)
		}
		if !sealed {
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		}
	})
}
