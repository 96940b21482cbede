package board

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// publish prints the lists that come, of one window or of all.
func (s *scenario) publish() string {
	published := s.b.Publish(s.now)
	changed, ended := published.Changed, published.Ended
	only := s.text("window", "")
	wanted := func(w *wire.Snapshot) bool { return only == "" || only == window.Name(w.Window) }
	var out strings.Builder
	for _, p := range changed {
		if !wanted(p.Snapshot) {
			continue
		}
		s.list(&out, p.Snapshot)
		if s.d.HasArg("coverage") {
			s.coverage(&out, p.Snapshot)
		}
	}
	for _, e := range ended {
		if wanted(e) {
			fmt.Fprintf(&out, "%s %s %s ended\n", e.Rule.Name, window.Name(e.Window), list(e.Group))
		}
	}
	return out.String()
}

// hours prints the rollups that come, and which rules began anew.
func (s *scenario) hours() string {
	var out strings.Builder
	p := s.b.Publish(s.now)
	for _, r := range p.Rollups {
		var sum topk.Summary
		require.NoError(s, sum.UnmarshalBinary(r.Encoded))
		fmt.Fprintf(&out, "%s hour %s %s: total %d", r.Rule.Name, clock(time.Unix(0, r.Hour.Start()).UTC()), list(r.Group), sum.Total())
		if sum.TotalUpper() != sum.Total() {
			fmt.Fprintf(&out, " to %d", sum.TotalUpper())
		}
		if len(r.PartialReasons) > 0 {
			fmt.Fprintf(&out, ", partial %v", r.PartialReasons)
		}
		for _, it := range sum.Top(r.Rule.K).Items {
			fmt.Fprintf(&out, "; %s %d", it.Key, it.Estimate)
		}
		fmt.Fprintln(&out)
	}
	for _, name := range p.Anew {
		fmt.Fprintf(&out, "%s anew\n", name)
	}
	return out.String()
}

func list(g rule.Group) string {
	if g.Scope == rule.ScopeGroup {
		return "group " + g.Name
	}
	return g.Scope.String()
}

func clock(at time.Time) string {
	if day := at.Truncate(24 * time.Hour).Sub(time.Unix(0, noon).UTC().Truncate(24 * time.Hour)); day != 0 {
		return fmt.Sprintf("%s (day %+d)", at.Format("15:04:05"), int(day.Hours()/24))
	}
	return at.Format("15:04:05")
}

func (s *scenario) list(out *strings.Builder, l *wire.Snapshot) {
	fmt.Fprintf(out, "%s %s %s from %s to %s: total %d", l.Rule.Name, window.Name(l.Window), list(l.Group), clock(l.WindowStart), clock(l.AsOf), l.Total)
	if l.TotalUpper != l.Total {
		fmt.Fprintf(out, " to %d", l.TotalUpper)
	}
	fmt.Fprintf(out, ", records %d, distinct %d", l.Records, l.Distinct)
	if l.List.Certified {
		fmt.Fprint(out, ", certified")
	}
	if len(l.PartialReasons) > 0 {
		fmt.Fprintf(out, ", partial %v", l.PartialReasons)
	}
	fmt.Fprintln(out)
	if s.d.HasArg("brief") {
		return
	}
	for i, it := range l.List.Items {
		fmt.Fprintf(out, "  %d. %s %d", i+1, it.Key, it.Lower)
		if it.Estimate != it.Lower {
			fmt.Fprintf(out, " to %d", it.Estimate)
		}
		if !it.Certain {
			fmt.Fprint(out, " uncertain")
		}
		fmt.Fprintln(out)
	}
}

func (s *scenario) coverage(out *strings.Builder, l *wire.Snapshot) {
	c := l.Coverage
	fmt.Fprintf(out, "  shards: %d reporting, %d silent, %d gone, %d overflowed\n", c.Reporting, c.Silent, c.Gone, c.OverflowedShards)
	for _, sh := range c.SilentShards {
		fmt.Fprintf(out, "  silent: %s since %s\n", sh.Shard, clock(sh.Since))
	}
	if c.Late+c.Future+c.Dropped > 0 {
		fmt.Fprintf(out, "  late %d, future %d, dropped %d\n", c.Late, c.Future, c.Dropped)
	}
	for _, o := range l.Conflicts {
		fmt.Fprintf(out, "  conflict: %dx%d of %d shards\n", o.Rule.Shape.Width, o.Rule.Shape.Depth, o.LiveShards)
	}
}

// stats prints what is not zero; bytes only if asked for.
func (s *scenario) stats() string {
	var out strings.Builder
	v := reflect.ValueOf(s.b.Stats())
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		f := v.Field(i)
		empty := f.IsZero() || f.Kind() == reflect.Map && f.Len() == 0
		if !empty && (s.d.HasArg("bytes") || !strings.HasSuffix(name, "Bytes")) {
			fmt.Fprintf(&out, "%s %v\n", name, f.Interface())
		}
	}
	return out.String()
}
