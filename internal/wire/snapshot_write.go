package wire

import (
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// AppendSnapshot appends one log record whose body and attributes are readable as they are. It returns the record's size in
// bytes.
func AppendSnapshot(ld plog.Logs, s *Snapshot) int {
	lr := appendRecord(ld, ScopeSnapshot)
	if !s.AsOf.IsZero() {
		lr.SetTimestamp(pcommon.NewTimestampFromTime(s.AsOf))
	}
	a := lr.Attributes()
	putHeader(a, s.Rule.Name, s.Window, s.Group)
	a.PutBool("certified", s.List.Certified)
	a.PutBool("partial", len(s.PartialReasons) > 0)

	m := lr.Body().SetEmptyMap()
	putTime(m, "window_start", s.WindowStart)
	putTime(m, "as_of", s.AsOf)
	m.PutBool("approximate", s.Approximate)
	putTexts(m, "partial_reasons", s.PartialReasons)
	putUint(m, "total", s.Total)
	putUint(m, "total_upper", s.TotalUpper)
	putUint(m, "records", s.Records)
	putUint(m, "distinct", s.Distinct)
	m.PutInt("k", int64(s.List.K))
	putUint(m, "theta", s.List.Theta)
	putUint(m, "next", s.List.Next)
	putItems(m.PutEmptySlice("items"), s)
	putCoverage(m.PutEmptyMap("coverage"), &s.Coverage)
	conflicts := m.PutEmptySlice("conflicts")
	for _, c := range s.Conflicts {
		cm := conflicts.AppendEmpty().SetEmptyMap()
		cm.PutStr("fingerprint", c.Fingerprint)
		cm.PutInt("live_shards", int64(c.LiveShards))
		putDefinition(cm.PutEmptyMap("definition"), c.Rule)
	}
	putDefinition(m.PutEmptyMap("definition"), s.Rule)
	return size(lr)
}

// putHeader writes the attributes that say which list a record belongs to.
func putHeader(a pcommon.Map, name string, d time.Duration, g rule.Group) {
	a.PutStr("rule", name)
	a.PutStr("window", window.Name(d))
	a.PutStr("scope", g.Scope.String())
	if g.Scope == rule.ScopeGroup {
		a.PutStr("group", g.Name)
	}
}

func putItems(items pcommon.Slice, s *Snapshot) {
	items.EnsureCapacity(len(s.List.Items))
	for i, it := range s.List.Items {
		m := items.AppendEmpty().SetEmptyMap()
		m.EnsureCapacity(8) // as many as follow
		m.PutInt("rank", int64(i+1))
		m.PutStr("key", it.Key)
		if len(s.Rule.Key) > 1 {
			putTexts(m, "parts", s.Rule.Parts(it.Key))
		}
		putUint(m, "estimate", it.Estimate)
		putUint(m, "lower", it.Lower)
		putUint(m, "error_bound", it.Estimate-it.Lower)
		m.PutBool("certain", it.Certain)
		m.PutBool("rank_certain", it.RankCertain)
	}
}

func putCoverage(m pcommon.Map, c *Coverage) {
	m.PutInt("reporting", int64(c.Reporting))
	m.PutInt("silent", int64(c.Silent))
	m.PutInt("gone", int64(c.Gone))
	silent := m.PutEmptySlice("silent_shards")
	for _, s := range c.SilentShards {
		sm := silent.AppendEmpty().SetEmptyMap()
		sm.PutStr("shard", s.Shard)
		putTime(sm, "since", s.Since)
	}
	putUint(m, "late", c.Late)
	putUint(m, "future", c.Future)
	putUint(m, "dropped", c.Dropped)
	m.PutInt("overflowed_shards", int64(c.OverflowedShards))
}

func putDefinition(m pcommon.Map, d *rule.Definition) {
	m.PutStr("name", d.Name)
	putTexts(m, "signals", d.Signals)
	putTexts(m, "key", d.Key)
	m.PutStr("group_by", d.GroupBy)
	m.PutStr("weight", d.Weight)
	m.PutDouble("weight_scale", d.WeightScale)
	putTexts(m, "conditions", d.Conditions)
	if d.Default != nil {
		m.PutStr("default", *d.Default)
	}
	m.PutStr("time", d.Time)
	m.PutInt("k", int64(d.K))
	m.PutInt("max_key_bytes", int64(d.MaxKeyBytes))
	m.PutInt("residents", int64(d.Residents))
	m.PutInt("width", int64(d.Shape.Width))
	m.PutInt("depth", int64(d.Shape.Depth))
}

// putUint writes a count: a number, or decimal text where it would pass the largest integer of OTLP.
func putUint(m pcommon.Map, name string, n uint64) {
	if n <= math.MaxInt64 {
		m.PutInt(name, int64(n))
		return
	}
	m.PutStr(name, strconv.FormatUint(n, 10))
}

// putTime writes RFC 3339 in UTC, and nothing for the zero time.
func putTime(m pcommon.Map, name string, t time.Time) {
	if !t.IsZero() {
		m.PutStr(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func putTexts(m pcommon.Map, name string, texts []string) {
	list := m.PutEmptySlice(name)
	list.EnsureCapacity(len(texts))
	for _, t := range texts {
		list.AppendEmpty().SetStr(t)
	}
}
