package recount

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// rulesOfAllKinds differ in what they read and when they count.
var rulesOfAllKinds = []func(*rule.Config){
	func(c *rule.Config) { c.Key = []string{`log.attributes["tenant"]`} },
	func(c *rule.Config) {
		c.Key, c.GroupBy = []string{`log.attributes["tenant"]`, "log.severity_number"}, `resource.attributes["region"]`
	},
	func(c *rule.Config) {
		c.Key, c.Weight, c.Conditions = []string{`log.attributes["tenant"]`}, rule.WeightBytes, []string{"log.severity_number >= 9", `log.attributes["route"] == "/1"`}
	},
	func(c *rule.Config) {
		c.Key, c.Weight, c.WeightScale, c.GroupBy = []string{"log.body"}, `log.attributes["load"]`, 100, `log.attributes["route"]`
	},
	func(c *rule.Config) {
		c.Key, c.WeightScale = []string{`Concat([scope.name, log.attributes["route"]], "")`}, 3
	},
	func(c *rule.Config) { c.Key, c.Weight = []string{"span.name"}, rule.WeightBytes },
	func(c *rule.Config) {
		c.Key, c.Time, c.GroupBy, c.Weight = []string{"span.name"}, rule.TimeStart, `resource.attributes["region"]`, rule.WeightBytes
	},
	func(c *rule.Config) { c.Key = []string{"spanevent.name", `span.attributes["tenant"]`} },
	func(c *rule.Config) {
		c.Key, c.Signals, c.Time = []string{`resource.attributes["region"]`}, []string{rule.SignalLogs, rule.SignalTraces}, rule.TimeStart
	},
}

func TestCountIsThatOfTheRecordsAsTheyWereSent(t *testing.T) {
	var rules []*rule.Rule
	for _, change := range rulesOfAllKinds {
		rules = append(rules, compiled(t, change))
	}
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(2, seed))
		now := at(random.Float64() * 4).UnixNano()
		q := Question{From: at(float64(random.IntN(4))), To: at(4)}
		if seed%2 == 0 { // any moments
			q.From = at(random.Float64() * 3)
			q.To = q.From.Add(time.Duration((1 + random.Float64()*2) * float64(time.Hour)))
		}
		store, want := new(shelf), newStraight(rules)
		for segment := range 1 + random.IntN(2) {
			ld, td := someLogs(random, 40), someTraces(random, 40)
			store.put(t, fmt.Sprintf("%016x", segment), ld, td, now)
			want.add(ld, td, now, q)
		}
		budget := []int64{1, 20 << 10, MinMemory}[seed%3]
		for i, r := range rules {
			q.Rule = r
			counts, err := count(context.Background(), store, q, Options{Memory: budget + 800*listBytes})
			require.NoError(t, err)
			require.Equal(t, want.oracles[i].rows(), collect(t, counts), "seed %d, %+v", seed, r.Config())
			require.Equal(t, want.oracles[i].sums(rule.Group{}), counts.Sums(), "seed %d, %+v", seed, r.Config())
			require.Equal(t, want.skipped[i], counts.Skipped, "seed %d, %+v", seed, r.Config())
			require.NoError(t, counts.Close())
		}
	}
}

// straight counts records in memory by the same rules. What a rule skips has no time, so each record is counted alone.
type straight struct {
	rules   []*rule.Rule
	oracles []oracle
	skipped []rule.Skipped
}

func newStraight(rules []*rule.Rule) *straight {
	s := &straight{rules: rules, skipped: make([]rule.Skipped, len(rules))}
	for range rules {
		s.oracles = append(s.oracles, oracle{})
	}
	return s
}

func (s *straight) add(ld plog.Logs, td ptrace.Traces, now int64, q Question) {
	inRange := func(ns int64) bool { return ns >= q.From.UnixNano() && ns < q.To.UnixNano() }
	for i, r := range s.rules {
		whole := rule.Batch{}
		r.Logs(ld, now, &whole)
		r.Traces(td, now, &whole)
		kept := rule.Batch{}
		for j, ns := range whole.Times {
			if !inRange(ns) {
				continue
			}
			kept.Keys = append(kept.Keys, whole.Keys[j])
			if whole.Weights != nil {
				kept.Weights = append(kept.Weights, whole.Weights[j])
			}
			if whole.Groups != nil {
				kept.Groups = append(kept.Groups, whole.Groups[j])
			}
		}
		s.oracles[i].addBatch(&kept)
		s.skipped[i].Add(skippedIn(r, ld, td, now, inRange))
	}
}

// skippedIn is what r skips of the records in range.
func skippedIn(r *rule.Rule, ld plog.Logs, td ptrace.Traces, now int64, inRange func(int64) bool) rule.Skipped {
	logs, traces := plog.NewLogs(), ptrace.NewTraces()
	ld.CopyTo(logs)
	td.CopyTo(traces)
	for _, rl := range logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.LogRecords().RemoveIf(func(record plog.LogRecord) bool { return !inRange(rule.LogTime(record, now)) })
		}
	}
	byStart := r.Config().Time == rule.TimeStart
	for _, rs := range traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if r.Early(rule.SignalTraces) && !byStart {
				for _, span := range ss.Spans().All() {
					span.Events().RemoveIf(func(event ptrace.SpanEvent) bool { return !inRange(rule.EventTime(span, event, now)) })
				}
				continue
			}
			ss.Spans().RemoveIf(func(span ptrace.Span) bool { return !inRange(rule.SpanTime(span, byStart, now)) })
		}
	}
	var b rule.Batch
	r.Logs(logs, now, &b)
	r.Traces(traces, now, &b)
	return b.Skipped
}

// aQuestion is about all of two hours that hold 100 records each: logs in hour 0 and hour 1.
func aQuestion(t testing.TB) (*shelf, Question) {
	store := new(shelf)
	for hour := range 2 {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range 100 {
			record := records.AppendEmpty()
			record.Attributes().PutStr("tenant", fmt.Sprint(i%7))
		}
		store.put(t, fmt.Sprintf("%016x", hour), ld, ptrace.NewTraces(), at(float64(hour)+0.5).UnixNano())
	}
	return store, Question{Rule: compiled(t, rulesOfAllKinds[0]), From: at(0), To: at(2)}
}

// copied is a name that somebody gave to a copy of the file of the first hour.
var copied = archive.File{Signal: rule.SignalLogs, Hour: hour0, Name: archive.FileName("copy", "0000000000000000")}

func file(hour int) archive.File {
	return archive.File{Signal: rule.SignalLogs, Hour: hour0 + archive.Hour(hour), Name: archive.FileName("shard", fmt.Sprintf("%016x", hour))}
}

func TestCountsSayWhatTheyAreMadeFrom(t *testing.T) {
	store, q := aQuestion(t)
	q.From, q.To = at(-1), at(4)
	var told []Progress
	counts, err := count(context.Background(), store, q, Options{Memory: MinMemory, Progress: func(p Progress) { told = append(told, p) }})
	require.NoError(t, err)
	require.Equal(t, []archive.Hour{hour0 - 1, hour0 + 2, hour0 + 3}, counts.Missing)
	require.Len(t, counts.Files, 2)
	require.Equal(t, file(0).Path(), counts.Files[0].Path())
	require.Equal(t, Progress{Files: 2, FilesDone: 2, Rows: 200, RowsDone: 200}, told[len(told)-1])
	for i, p := range told {
		require.LessOrEqual(t, p.RowsDone, p.Rows)
		require.GreaterOrEqual(t, p.RowsDone, told[max(0, i-1)].RowsDone)
	}
	q.From, q.To = at(0), at(1)
	store.opened = nil
	_, err = count(context.Background(), store, q, Options{Memory: MinMemory})
	require.NoError(t, err)
	require.Equal(t, []string{file(0).Path()}, store.opened, "other hours are not read")
}

func TestQuestionsThatHaveNoAnswer(t *testing.T) {
	for _, row := range []struct {
		situation string
		change    func(*shelf, *Question, *Options)
		want      string
		is        error
	}{
		{"M10: no archive", func(_ *shelf, q *Question, _ *Options) { q.From, q.To = at(7), at(9) }, "the archive has no file in the range", ErrNoArchive},
		{"inverted", func(_ *shelf, q *Question, _ *Options) { q.From, q.To = q.To, q.From }, "from 2026-01-02T17:00:00Z is not before to 2026-01-02T15:00:00Z", nil},
		{"empty", func(_ *shelf, q *Question, _ *Options) { q.To = q.From }, "from 2026-01-02T15:00:00Z is not before to 2026-01-02T15:00:00Z", nil},
		{"data points", func(_ *shelf, q *Question, _ *Options) {
			q.Rule = compiled(t, func(c *rule.Config) { c.Key = []string{"metric.name"} })
		}, "rule test counts metrics: data points are not archived", ErrNoRecords},
		{"a group of a rule without", func(_ *shelf, q *Question, _ *Options) { q.Group = &rule.Group{Scope: rule.ScopeMissing} }, "rule test has no group_by, so it has no missing list", nil},
		{"a foreign file", func(s *shelf, _ *Question, _ *Options) { s.foreign = []string{"logs/year=2026/readme.txt"} }, "logs/year=2026/readme.txt: not a file of this archive", archive.ErrForeign},
		{"a file that vanishes", func(s *shelf, _ *Question, _ *Options) { s.gone = file(1).Path() }, file(1).Path() + " was deleted while it was to be counted (keep): file does not exist", nil},
		{"a file of another hour", func(s *shelf, _ *Question, _ *Options) { s.files[file(1)] = s.files[file(0)] }, file(1).Path() + ": not a file of this archive: it says that it is " + file(0).Path(), archive.ErrForeign},
		{"a copy", func(s *shelf, _ *Question, _ *Options) { s.files[copied] = s.files[file(0)] }, copied.Path() + ": not a file of this archive: it says that it is " + file(0).Path(), archive.ErrForeign},
	} {
		t.Run(row.situation, func(t *testing.T) {
			store, q := aQuestion(t)
			o := Options{Memory: MinMemory}
			row.change(store, &q, &o)
			_, err := count(context.Background(), store, q, o)
			require.EqualError(t, err, row.want)
			if row.is != nil {
				require.ErrorIs(t, err, row.is)
			}
		})
	}
	_, q := aQuestion(t)
	_, err := Count(context.Background(), nil, q, Options{Memory: MinMemory - 1})
	require.EqualError(t, err, "memory_limit: 16777215 bytes are less than 16777216")
}

func TestADamagedFileFailsTheCountOrIsLeftOutWhole(t *testing.T) {
	store, q := aQuestion(t)
	ask := func(o Options, to float64) ([]table.Row, *Counts, error) {
		o.Memory = MinMemory
		counts, err := count(context.Background(), store, Question{Rule: q.Rule, From: at(0), To: at(to)}, o)
		if err != nil {
			return nil, nil, err
		}
		return collect(t, counts), counts, nil
	}
	one, _, err := ask(Options{}, 1)
	require.NoError(t, err)
	both, _, err := ask(Options{}, 2)
	require.NoError(t, err)

	whole, noticed := store.files[file(1)], 0
	for place := 0; place < len(whole); place += 61 {
		store.files[file(1)] = slices.Clone(whole)
		store.files[file(1)][place] ^= 0x10
		rows, _, err := ask(Options{}, 2)
		if err == nil { // in a column that nobody needs
			require.Equal(t, both, rows, "byte %d", place)
			continue
		}
		noticed++
		require.ErrorContains(t, err, file(1).Path(), "byte %d", place)
		require.True(t, broken(err), "byte %d: %v", place, err)

		rows, counts, err := ask(Options{SkipDamaged: true}, 2)
		require.NoError(t, err)
		require.Equal(t, one, rows)
		require.Len(t, counts.Files, 1)
		require.Len(t, counts.LeftOut, 1)
		require.Contains(t, counts.LeftOut[0], file(1).Path())
	}
	require.NotZero(t, noticed)

	store.files[file(1)] = whole[:len(whole)-1]
	store.foreign = []string{"a", "b"}
	_, counts, err := ask(Options{SkipDamaged: true}, 2)
	require.NoError(t, err)
	require.Len(t, counts.LeftOut, 3)
}

func TestACancelledCountEnds(t *testing.T) {
	store, q := aQuestion(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := count(ctx, store, q, Options{Memory: MinMemory, Progress: func(Progress) { cancel(errors.New("enough")) }})
	require.ErrorIs(t, err, context.Canceled)
}

func TestPropagatedErrorsNameTheFile(t *testing.T) {
	store, q := aQuestion(t)
	q.Rule = compiled(t, func(c *rule.Config) {
		c.Key, c.ErrorMode = []string{`Int(ParseJSON(log.attributes["tenant"])["a"])`}, rule.ErrorPropagate
	})
	_, err := count(context.Background(), store, q, Options{Memory: MinMemory})
	require.EqualError(t, err, file(0).Path()+": an OTTL expression failed (error_mode: propagate)")
}

func TestAskedKeysOfOneGroup(t *testing.T) {
	store, q := aQuestion(t)
	q.Keys = []string{"3", "never"}
	q.Group = &rule.Group{}
	counts, err := count(context.Background(), store, q, Options{Memory: MinMemory})
	require.NoError(t, err)
	require.Equal(t, []table.Row{{Key: "3", Weight: 28, Records: 28}, {Key: "never"}}, collect(t, counts))
	require.Equal(t, []table.Sum{{Weight: 200, Records: 200, Distinct: 1}}, counts.Sums())
}
