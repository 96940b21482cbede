package dataset

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// readRobot reads traces and logs as OTLP JSON.
func readRobot(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "traces.jsonl.zst")
	if err != nil {
		return nil, err
	}
	var all []ptrace.Traces
	for line := range bytes.Lines(data) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			return nil, err
		}
		all = append(all, td)
	}
	spans := spanStream(all)
	spans.unifyStatus()
	spans.addFields()
	spans.addAttributes("db.statement", "db.system", "thread.name", "http.route", "url.path", "http.status_code", "http.url", "rf.keyword.name")
	logs, err := readLogs(dir, "logs.jsonl")
	return []*Stream{spans.Stream, logs}, err
}

// readHipstershop reads traces as protobuf messages, each after its length in four bytes.
func readHipstershop(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "hipstershop-oteltraces.pb.zst")
	if err != nil {
		return nil, err
	}
	var all []ptrace.Traces
	for len(data) > 0 {
		if len(data) < 4 || uint64(len(data)-4) < uint64(binary.BigEndian.Uint32(data)) {
			return nil, errors.New("the last message is cut off")
		}
		end := 4 + int(binary.BigEndian.Uint32(data))
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data[4:end])
		if err != nil {
			return nil, err
		}
		all, data = append(all, td), data[end:]
	}
	spans := spanStream(all)
	spans.addFields()
	spans.add("status.code", func(r spanRef) string { return strconv.Itoa(int(r.span.Status().Code())) }, "span.status.code")
	spans.addResource("k8s.pod.name", "k8s.node.name")
	spans.addAttributes("grpc.method", "db.statement", "peer.hostname", "peer.port", "http.url", "http.status_code")
	return []*Stream{spans.Stream}, nil
}

// readNezha reads spans as CSV.
func readNezha(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "spans.csv.zst")
	if err != nil {
		return nil, err
	}
	td := ptrace.NewTraces()
	pods := make(map[string]ptrace.SpanSlice)
	header := true
	err = eachRow(data, 8, func(row []string) error {
		if header {
			header = false
			return nil
		}
		list, ok := pods[row[3]]
		if !ok {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("k8s.pod.name", strings.Clone(row[3]))
			list = rs.ScopeSpans().AppendEmpty().Spans()
			pods[strings.Clone(row[3])] = list
		}
		return putRow(list.AppendEmpty(), row)
	})
	if err != nil {
		return nil, err
	}
	spans := spanStream([]ptrace.Traces{td})
	pod := resourceText("k8s.pod.name")
	spans.add("PodName", pod, resourceAttribute("k8s.pod.name"))
	spans.add("OperationName", spanName, "span.name")
	spans.add("pod_op", joined(pod, spanName), resourceAttribute("k8s.pod.name"), "span.name")
	spans.add("TraceID", func(r spanRef) string { return r.span.TraceID().String() }, "span.trace_id.string")
	spans.needs("TraceID", 2048)
	return []*Stream{spans.Stream}, nil
}

func putRow(span ptrace.Span, row []string) error {
	var trace pcommon.TraceID
	var id, parent pcommon.SpanID
	_, err1 := hex.Decode(trace[:], []byte(row[0]))
	_, err2 := hex.Decode(id[:], []byte(row[1]))
	var err3 error
	if row[2] != "root" {
		_, err3 = hex.Decode(parent[:], []byte(row[2]))
	}
	start, err4 := strconv.ParseUint(row[5], 10, 64)
	end, err5 := strconv.ParseUint(row[6], 10, 64)
	span.SetTraceID(trace)
	span.SetSpanID(id)
	span.SetParentSpanID(parent)
	span.SetName(strings.Clone(row[4]))
	span.SetStartTimestamp(pcommon.Timestamp(start))
	span.SetEndTimestamp(pcommon.Timestamp(end))
	return errors.Join(err1, err2, err3, err4, err5)
}
