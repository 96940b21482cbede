package wire

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire/wirepb"
	"github.com/otel-topk/collector/topk"
)

// Rollup is what was counted in one hour of event time under one rule and group. A later one (AsOf) of the same hour replaces
// it. Where a rule has a rollup of scope overflow, groups without a rollup of the same hour may have records in it.
type Rollup struct {
	Rule           *rule.Definition // with the seed; not to be changed: rollups that came together share it
	Hour           window.Minute    // its first minute, a multiple of 60
	Group          rule.Group
	AsOf           time.Time // when it was made
	PartialReasons []string  // as of Snapshot
	Summary        *topk.Summary
	Encoded        []byte // of Summary: set by Publications, may be set for Append
}

// AppendRollup appends one log record to ld and returns its size in bytes. An error says which field may not travel; ld is
// unchanged then.
func AppendRollup(ld plog.Logs, r *Rollup) (int, error) {
	body, err := EncodeRollup(r)
	if err != nil {
		return 0, err
	}
	lr := appendRecord(ld, ScopeRollup)
	lr.SetTimestamp(pcommon.Timestamp(r.Hour.Start()))
	lr.SetObservedTimestamp(pcommon.NewTimestampFromTime(r.AsOf))
	putHeader(lr.Attributes(), r.Rule.Name, time.Hour, r.Group)
	lr.Body().SetEmptyBytes().FromRaw(body)
	return size(lr), nil
}

// EncodeRollup makes the body of a rollup, as it travels and as it is stored.
func EncodeRollup(r *Rollup) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("rollup: %w", err)
	}
	definition, err := EncodeDefinition(r.Rule)
	if err != nil {
		return nil, fmt.Errorf("rollup: %w", err)
	}
	summary := r.Encoded
	if summary == nil {
		if summary, err = r.Summary.AppendBinary(nil); err != nil {
			return nil, fmt.Errorf("rollup: summary: %w", err)
		}
	}
	body, err := proto.Marshal(&wirepb.Rollup{
		Definition:     definition,
		Hour:           int64(r.Hour) / int64(window.OneHour),
		Group:          encodeGroup(r.Group),
		AsOf:           r.AsOf.UnixNano(),
		PartialReasons: r.PartialReasons,
		Summary:        summary,
	})
	if err != nil {
		return nil, fmt.Errorf("rollup: %w", err)
	}
	if len(body) > MaxBodyBytes {
		return nil, fmt.Errorf("rollup: %w", tooLarge("body", len(body), MaxBodyBytes))
	}
	return body, nil
}

// Rollup reads the body of a rollup. The error is a *Refusal.
func (b *Bodies) Rollup(body []byte) (*Rollup, error) {
	if len(body) > MaxBodyBytes {
		return nil, tooLarge("body", len(body), MaxBodyBytes)
	}
	return b.definitions().decodeRollupBody(body)
}

func (known definitions) decodeRollup(lr plog.LogRecord) (*Rollup, error) {
	b, err := body(lr, MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	return known.decodeRollupBody(b)
}

func (known definitions) decodeRollupBody(b []byte) (*Rollup, error) {
	var m wirepb.Rollup
	if err := atMost(b, "partial_reasons", rollupReasons, MaxReasons); err != nil {
		return nil, err
	}
	if err := decode(b, &m); err != nil {
		return nil, err
	}
	if m.Hour < 0 || m.Hour > MaxHour {
		return nil, refuse(ReasonInvalid, "hour: %d, allowed is 0 to %d", m.Hour, MaxHour)
	}
	r := &Rollup{
		Hour: window.Minute(m.Hour) * window.Minute(window.OneHour), AsOf: time.Unix(0, m.AsOf).UTC(),
		PartialReasons: m.PartialReasons, Encoded: m.Summary,
	}
	var err error
	if r.Rule, err = known.decode(m.Definition); err != nil {
		return nil, err
	}
	if r.Group, err = decodeGroup(m.Group); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Summary, err = decodeSummary(m.Summary, r.Rule); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Rollup) check() error {
	if err := checkGroup(r.Group, r.Rule); err != nil {
		return err
	}
	if err := checkReasons("partial_reasons", r.PartialReasons); err != nil {
		return err
	}
	if hour := window.Minute(window.OneHour); r.Hour < 0 || int64(r.Hour/hour) > MaxHour || r.Hour%hour != 0 {
		return refuse(ReasonInvalid, "hour: minute %d, the first one of an hour from 0 to %d is allowed", r.Hour, MaxHour)
	}
	return nil
}

func checkReasons(field string, reasons []string) error {
	if len(reasons) > MaxReasons {
		return outside(field, len(reasons), 0, MaxReasons)
	}
	for i, text := range reasons {
		switch field := field + "[" + strconv.Itoa(i) + "]"; {
		case len(text) > MaxReasonBytes:
			return tooLarge(field, len(text), MaxReasonBytes)
		case text == "" || !utf8.ValidString(text):
			return refuse(ReasonInvalid, "%s: empty or not UTF-8", field)
		}
	}
	return nil
}
