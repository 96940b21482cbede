package wire

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"
)

// The scope of a log record says what its body is.
const (
	ScopeReport   = "otel-topk/report"
	ScopeState    = "otel-topk/state"
	ScopeSnapshot = "otel-topk/snapshot"
	ScopeSummary  = "otel-topk/summary"
	ScopeRollup   = "otel-topk/rollup"

	// Version is the scope version of all five.
	Version = "1"
)

// appendRecord adds a record under the scope called name, which stands once in ld.
func appendRecord(ld plog.Logs, name string) plog.LogRecord {
	if ld.ResourceLogs().Len() == 0 {
		ld.ResourceLogs().AppendEmpty()
	}
	scopes := ld.ResourceLogs().At(0).ScopeLogs()
	for _, sl := range scopes.All() {
		if sl.Scope().Name() == name && sl.Scope().Version() == Version {
			return sl.LogRecords().AppendEmpty()
		}
	}
	sl := scopes.AppendEmpty()
	sl.Scope().SetName(name)
	sl.Scope().SetVersion(Version)
	return sl.LogRecords().AppendEmpty()
}

// appendBody adds a record whose body is bytes and returns the record's size in a request.
func appendBody(ld plog.Logs, name string, body []byte) int {
	lr := appendRecord(ld, name)
	lr.Body().SetEmptyBytes().FromRaw(body)
	return size(lr)
}

// size of a record in a request, which writes its length before it.
func size(lr plog.LogRecord) int {
	return protowire.SizeTag(1) + protowire.SizeBytes((&plog.ProtoMarshaler{}).LogRecordSize(lr))
}

// body returns the bytes of a record, of which there are at most limit.
func body(lr plog.LogRecord, limit int) ([]byte, error) {
	if lr.Body().Type() != pcommon.ValueTypeBytes {
		return nil, refuse(ReasonInvalid, "body: a %s, only bytes are allowed", lr.Body().Type())
	}
	b := lr.Body().Bytes()
	if b.Len() > limit {
		return nil, tooLarge("body", b.Len(), limit)
	}
	return b.AsRaw(), nil
}
