package recount

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/rule"
)

// Events count in their own time, whatever the clock of their span says.
func TestEventsCountWhereverTheirSpanLies(t *testing.T) {
	r := compiled(t, func(c *rule.Config) { c.Key = []string{"spanevent.name"} })
	for name, hours := range map[string]struct{ start, end, event float64 }{ // 0: none
		"within its span":                 {1.1, 1.3, 1.2},
		"before the start":                {2.0001, 2.5, 1.9999},
		"without a start":                 {0, 3.2, 1.2},
		"hours after the end":             {-2.9, -2.5, 1.5},
		"of a span that ended long ago":   {-22, -21.9, 1.5},
		"of a span that ends a day later": {1.1, 25, 1.5},
	} {
		t.Run(name, func(t *testing.T) {
			td := ptrace.NewTraces()
			s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			if hours.start != 0 {
				s.SetStartTimestamp(pcommon.NewTimestampFromTime(at(hours.start)))
			}
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(at(hours.end)))
			e := s.Events().AppendEmpty()
			e.SetName("e")
			e.SetTimestamp(pcommon.NewTimestampFromTime(at(hours.event)))
			store := new(shelf)
			store.put(t, "0000000000000000", plog.NewLogs(), td, 0)
			for hour, want := range map[float64]uint64{0: 0, 1: 1, 2: 0} {
				c, err := Count(t.Context(), store, Question{Rule: r, From: at(hour), To: at(hour + 1)}, Options{Memory: MinMemory})
				if want == 0 && errors.Is(err, ErrNoArchive) {
					continue
				}
				require.NoError(t, err)
				require.Equal(t, want, c.Sums()[0].Records)
				require.NoError(t, c.Close())
			}
		})
	}
}
