package wire

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire/wirepb"
	"github.com/otel-topk/collector/topk"
)

// WindowSummary answers point queries for the Snapshot of the same rule, window, group and AsOf.
type WindowSummary struct {
	Rule    *rule.Definition // with the seed; not to be changed: summaries that came together share it
	Window  time.Duration
	Group   rule.Group
	AsOf    time.Time
	Summary *topk.Summary
}

// AppendWindowSummary appends one log record to ld and returns its size in bytes. An error says which field may not travel;
// ld is unchanged then.
func AppendWindowSummary(ld plog.Logs, w *WindowSummary) (int, error) {
	if err := w.check(); err != nil {
		return 0, fmt.Errorf("window summary: %w", err)
	}
	definition, err := EncodeDefinition(w.Rule)
	if err != nil {
		return 0, fmt.Errorf("window summary: %w", err)
	}
	summary, err := w.Summary.AppendBinary(nil)
	if err != nil {
		return 0, fmt.Errorf("window summary: %w", err)
	}
	body, err := proto.Marshal(&wirepb.WindowSummary{
		Definition:    definition,
		WindowMinutes: int64(w.Window / window.Bucket),
		Group:         encodeGroup(w.Group),
		AsOf:          w.AsOf.UnixNano(),
		Summary:       summary,
	})
	if err != nil {
		return 0, fmt.Errorf("window summary: %w", err)
	}
	if len(body) > MaxBodyBytes {
		return 0, fmt.Errorf("window summary: %w", tooLarge("body", len(body), MaxBodyBytes))
	}
	lr := appendRecord(ld, ScopeSummary)
	lr.SetTimestamp(pcommon.NewTimestampFromTime(w.AsOf))
	putHeader(lr.Attributes(), w.Rule.Name, w.Window, w.Group)
	lr.Body().SetEmptyBytes().FromRaw(body)
	return size(lr), nil
}

func (known definitions) decodeWindowSummary(lr plog.LogRecord) (*WindowSummary, error) {
	b, err := body(lr, MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	var m wirepb.WindowSummary
	if err := decode(b, &m); err != nil {
		return nil, err
	}
	if m.WindowMinutes < 1 || m.WindowMinutes > int64(MaxWindow/window.Bucket) {
		return nil, refuse(ReasonInvalid, "window_minutes: %d, allowed is 1 to %d", m.WindowMinutes, MaxWindow/window.Bucket)
	}
	w := &WindowSummary{Window: time.Duration(m.WindowMinutes) * window.Bucket, AsOf: time.Unix(0, m.AsOf).UTC()}
	if w.Rule, err = known.decode(m.Definition); err != nil {
		return nil, err
	}
	if w.Group, err = decodeGroup(m.Group); err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	w.Summary, err = decodeSummary(m.Summary, w.Rule)
	return w, err
}

func (w *WindowSummary) check() error {
	if err := checkGroup(w.Group, w.Rule); err != nil {
		return err
	}
	return checkWindow(w.Window)
}

func checkWindow(d time.Duration) error {
	if d < window.Bucket || d > MaxWindow || d%window.Bucket != 0 {
		return refuse(ReasonInvalid, "window: %v, a multiple of %v up to %v is allowed", d, window.Bucket, MaxWindow)
	}
	return nil
}
