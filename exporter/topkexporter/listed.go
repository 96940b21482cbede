package topkexporter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// listPrefix stands before the keys of stored lists; FORMAT.md specifies the values.
const listPrefix = "list/"

// timeBytes is the time that a stored list begins with.
const timeBytes = 8

// listKey is where a list is stored. It holds no names: they may be long, and keys are told in errors.
func listKey(name string, id listID) string {
	b := field.AppendText(nil, name)
	b = binary.AppendVarint(b, int64(id.window))
	b = appendGroup(b, id.group)
	return listPrefix + digest(b)
}

// digest is 32 hex digits of the hash of b.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func appendGroup(b []byte, g rule.Group) []byte {
	return field.AppendText(append(b, byte(g.Scope)), g.Name)
}

// encodeList makes the value of a list: when it came, and the records that it came in, compressed.
func encodeList(l *list) ([]byte, error) {
	ld := plog.NewLogs()
	wire.AppendSnapshot(ld, l.Snapshot)
	if l.summary != nil {
		w := &wire.WindowSummary{Rule: l.keyed, Window: l.Window, Group: l.Group, AsOf: l.AsOf, Summary: l.summary}
		if _, err := wire.AppendWindowSummary(ld, w); err != nil {
			return nil, err
		}
	}
	records, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	if err != nil {
		return nil, err
	}
	value := binary.LittleEndian.AppendUint64(make([]byte, 0, timeBytes+len(records)/2), uint64(l.received.UnixNano()))
	return compressor.EncodeAll(records, value), nil
}

// decodeList reads what encodeList made.
func decodeList(value []byte) (*list, error) {
	if len(value) < timeBytes {
		return nil, errors.New("a list without a time")
	}
	records, err := expand(value[timeBytes:], nil)
	if err != nil {
		return nil, err
	}
	ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(records)
	if err != nil {
		return nil, err
	}
	l := &list{received: time.Unix(0, int64(binary.LittleEndian.Uint64(value)))}
	for publication, err := range wire.Publications(ld) {
		if err != nil {
			return nil, err
		}
		switch p := publication.(type) {
		case *wire.Snapshot:
			l.Snapshot = p
		case *wire.WindowSummary:
			l.summary, l.keyed = p.Summary, p.Rule
		}
	}
	if l.Snapshot == nil {
		return nil, errors.New("no list")
	}
	return l, nil
}
