package wire

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire/wirepb"
)

// Report says who a shard is and how it fares. One leads every request; alone it is hello or goodbye.
type Report struct {
	Epoch   Epoch
	Shard   string // a label, cut at MaxShardBytes
	Goodbye bool
	Through []Epoch // of a gateway: itself, and the gateways whose states are in what it sends
	Rules   []RuleReport
}

// RuleReport counts, cumulative since the epoch began, what did not become part of any state.
type RuleReport struct {
	Rule    string
	Records uint64 // records counted
	Late    uint64 // records too late
	Future  uint64 // records too far ahead
	Dropped uint64 // final states given up (pending or retain passed)
	Below   *Below // of a gateway; nil: of a processor
}

// Below are the shards of one rule below a gateway, as it last saw them.
type Below struct {
	Reporting, Silent, Gone int           // as in Coverage
	SilentShards            []SilentShard // the longest silent first, at most MaxSilentShards; of a report at most MaxSilentBelow
}

// AppendReport appends one log record to ld and returns its size in bytes.
func AppendReport(ld plog.Logs, r *Report) int {
	m := &wirepb.Report{
		Epoch:   r.Epoch[:],
		Shard:   label(r.Shard),
		Goodbye: r.Goodbye,
		Rules:   make([]*wirepb.RuleReport, len(r.Rules)),
	}
	for i, rr := range r.Rules {
		m.Rules[i] = &wirepb.RuleReport{
			Rule: strings.ToValidUTF8(rr.Rule, "\uFFFD"), Records: rr.Records, Late: rr.Late, Future: rr.Future, Dropped: rr.Dropped,
		}
	}
	appendBelow(m, r)
	body, err := proto.Marshal(m)
	if err != nil {
		panic("wire: a report always encodes: " + err.Error())
	}
	return appendBody(ld, ScopeReport, body)
}

func decodeReport(lr plog.LogRecord) (*Report, error) {
	b, err := body(lr, MaxReportBytes)
	if err != nil {
		return nil, err
	}
	var m wirepb.Report
	for _, limit := range []struct {
		field  string
		number protowire.Number
		most   int
	}{
		{"rules", reportRules, MaxReportRules},
		{"through", reportThrough, MaxThrough},
		{"silent_shards", reportSilent, MaxSilentBelow},
	} {
		if err := atMost(b, limit.field, limit.number, limit.most); err != nil {
			return nil, err
		}
	}
	if err := decode(b, &m); err != nil {
		return nil, err
	}
	r := &Report{Shard: m.Shard, Goodbye: m.Goodbye}
	if r.Epoch, err = decodeEpoch(m.Epoch); err != nil {
		return nil, err
	}
	if len(m.Shard) > MaxShardBytes {
		return nil, tooLarge("shard", len(m.Shard), MaxShardBytes)
	}
	for _, id := range m.Through {
		through, err := decodeEpoch(id)
		if err != nil {
			return nil, err
		}
		r.Through = append(r.Through, through)
	}
	silent, err := decodeSilent(m.SilentShards)
	if err != nil {
		return nil, err
	}
	for _, rr := range m.Rules {
		if len(rr.Rule) > rule.MaxNameBytes {
			return nil, tooLarge("rules.rule", len(rr.Rule), rule.MaxNameBytes)
		}
		below, err := decodeBelow(rr.Below, silent)
		if err != nil {
			return nil, err
		}
		r.Rules = append(r.Rules, RuleReport{
			Rule: rr.Rule, Records: rr.Records, Late: rr.Late, Future: rr.Future, Dropped: rr.Dropped, Below: below,
		})
	}
	return r, nil
}

func decodeEpoch(b []byte) (Epoch, error) {
	if len(b) != len(Epoch{}) {
		return Epoch{}, refuse(ReasonInvalid, "epoch: %d bytes, allowed is %d", len(b), len(Epoch{}))
	}
	e := Epoch(b)
	if e == (Epoch{}) {
		return Epoch{}, refuse(ReasonInvalid, "epoch: all zero")
	}
	return e, nil
}

// label is text as it may travel: valid UTF-8 of at most MaxShardBytes, cut at the edge of a rune.
func label(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxShardBytes {
		return text
	}
	n := MaxShardBytes
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
