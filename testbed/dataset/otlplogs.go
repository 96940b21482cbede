package dataset

import (
	"bytes"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// readLoadgen reads log requests as OTLP JSON.
func readLoadgen(dir string) ([]*Stream, error) {
	s, err := readLogs(dir, "logs.jsonl.zst")
	return []*Stream{s}, err
}

type logRef struct {
	resource pcommon.Resource
	scope    pcommon.InstrumentationScope
	origin   int
	record   plog.LogRecord
}

// logKeys are the keys of every OTLP logs set; one that no record has is left out.
var logKeys = []struct {
	name, path string
	text       func(logRef) string
}{
	{"service.name", resourceAttribute("service.name"), func(r logRef) string { return text(r.resource.Attributes(), "service.name") }},
	{"severityText", "log.severity_text", func(r logRef) string { return r.record.SeverityText() }},
	{"severityNumber", "log.severity_number", func(r logRef) string {
		return pcommon.NewValueInt(int64(r.record.SeverityNumber())).AsString()
	}},
	{"body", "log.body", func(r logRef) string { return r.record.Body().AsString() }},
	{"userId", logAttribute("userId"), func(r logRef) string { return text(r.record.Attributes(), "userId") }},
	{"scope.name", "scope.name", func(r logRef) string { return r.scope.Name() }},
	{"telemetry.sdk.language", resourceAttribute("telemetry.sdk.language"), func(r logRef) string {
		return text(r.resource.Attributes(), "telemetry.sdk.language")
	}},
	{"productId", logAttribute("productId"), func(r logRef) string { return text(r.record.Attributes(), "productId") }},
	{"code.function", logAttribute("code.function"), func(r logRef) string { return text(r.record.Attributes(), "code.function") }},
}

// readLogs reads a file with an ExportLogsServiceRequest as JSON on each line.
func readLogs(path ...string) (*Stream, error) {
	data, err := readFile(path...)
	if err != nil {
		return nil, err
	}
	s := &Stream{Name: "logs", Signal: "logs"}
	var refs, origins []logRef
	for line := range bytes.Lines(data) {
		ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(line)
		if err != nil {
			return nil, err
		}
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				ref := logRef{resource: rl.Resource(), scope: sl.Scope(), origin: len(origins)}
				origins = append(origins, ref)
				for _, ref.record = range sl.LogRecords().All() {
					refs = append(refs, ref)
					at := ref.record.Timestamp()
					if at == 0 {
						at = ref.record.ObservedTimestamp()
					}
					s.Times = append(s.Times, int64(at))
				}
			}
		}
	}
	for _, key := range logKeys {
		if values, found := texts(refs, key.text); found {
			s.addKey(key.name, values, key.path)
		}
	}
	s.origin = func(i int) int { return refs[i].origin }
	s.put = func(origin int, res pcommon.Resource, scope pcommon.InstrumentationScope) {
		origins[origin].resource.CopyTo(res)
		origins[origin].scope.CopyTo(scope)
	}
	s.putLog = func(i int, to plog.LogRecord) { refs[i].record.CopyTo(to) }
	return s, nil
}

// texts of a key in all records, and whether any has one.
func texts[T any](refs []T, text func(T) string) (values []string, found bool) {
	values = make([]string, len(refs))
	for i, ref := range refs {
		values[i] = text(ref)
		found = found || values[i] != ""
	}
	return values, found
}

func text(attributes pcommon.Map, name string) string {
	if value, ok := attributes.Get(name); ok {
		return value.AsString()
	}
	return ""
}
