package exact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bucket is a Store in memory.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	puts    []string
	fails   error
}

type object struct{ *bytes.Reader }

func (object) Close() error  { return nil }
func (o object) Size() int64 { return o.Reader.Size() }

func (b *bucket) Put(_ context.Context, path string, write func(io.Writer) error) (int64, error) {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails != nil {
		return 0, b.fails
	}
	b.objects[path] = out.Bytes()
	b.puts = append(b.puts, path)
	return int64(out.Len()), nil
}

func (b *bucket) Open(_ context.Context, path string) (archive.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, ok := b.objects[path]
	switch {
	case b.fails != nil:
		return nil, b.fails
	case !ok:
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return object{bytes.NewReader(body)}, nil
}

func (b *bucket) Delete(_ context.Context, path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, path)
	return b.fails
}

func (b *bucket) List(_ context.Context, prefix string) ([]archive.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var entries []archive.Entry
	for _, path := range slices.Sorted(maps.Keys(b.objects)) {
		if strings.HasPrefix(path, prefix) {
			entries = append(entries, archive.Entry{Path: path, Size: int64(len(b.objects[path]))})
		}
	}
	return entries, b.fails
}

func (b *bucket) Abandoned(context.Context, string, time.Time) (int, error) { return 0, nil }

func (b *bucket) Files(ctx context.Context, signal string, from, to archive.Hour) (files []archive.File, foreign []string, err error) {
	entries, err := b.List(ctx, signal+"/")
	for _, e := range entries {
		f, err := archive.ParseFile(e.Path)
		if err != nil || f.Hour < from || f.Hour >= to {
			continue
		}
		f.Size = e.Size
		files = append(files, f)
	}
	return files, nil, err
}

// tables that were put under a root, in turn, without the root, and forgets them.
func (b *bucket) made(root string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var made []string
	for _, path := range b.puts {
		if strings.HasPrefix(path, root) {
			made = append(made, strings.TrimSuffix(path[strings.Index(path, "/year=")+1:], "/"+fileName))
		}
	}
	b.puts = nil
	return made
}

// record of one file: weight 1 each.
type record struct{ group, key string }

// world is an archive with an oracle.
type world struct {
	t       *testing.T
	bucket  *bucket
	rule    *rule.Rule
	records map[string][]record // by file
	keeps   map[string]bool     // files that are gone and count all the same
	counted map[archive.Hour]int
	fails   map[archive.Hour]error
	now     time.Time
	takes   time.Duration // each count
	served  served
	log     *observer.ObservedLogs
	stored  map[string][]byte
	options Options
	leftOut []string
}

const noon = archive.Hour(490_836) // 2025-12-29T12

func newWorld(t *testing.T) *world {
	cfg := rule.NewDefaultConfig()
	cfg.Name, cfg.Key, cfg.GroupBy = "tenants", []string{`log.attributes["tenant.id"]`}, `resource.attributes["region"]`
	r, err := rule.New(cfg, 0, "", componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	core, log := observer.New(zap.InfoLevel)
	w := &world{
		t: t, bucket: &bucket{objects: map[string][]byte{}}, rule: r, records: map[string][]record{}, keeps: map[string]bool{}, counted: map[archive.Hour]int{},
		fails: map[archive.Hour]error{}, log: log, stored: map[string][]byte{},
	}
	w.options = Options{
		Store: w.bucket, Rules: []*rule.Rule{r}, Count: w.count, Served: &w.served, Storage: w, Logger: zap.New(core), Now: func() time.Time { return w.now },
		Grace: 15 * time.Minute, Keep: 90 * 24 * time.Hour, Directory: t.TempDir(),
	}
	return w
}

// Apply keeps what was staged under the keys of audits.
func (w *world) Apply(c *depot.Change) {
	d := depot.New(depot.Memory{})
	d.Apply(c)
	for _, s := range []archive.Hour{noon, noon - 1} {
		key := keyOf("tenants", w.rule.Definition().Fingerprint(), s, s+1)
		if value, err := d.Get(ctx, key); err == nil && value != nil {
			w.stored[key] = value
		}
	}
}
func (w *world) Commit(context.Context) {}

// file puts records of an hour into the archive.
func (w *world) file(at archive.Hour, n int, records ...record) {
	f := archive.File{Signal: rule.SignalLogs, Hour: at, Name: archive.FileName("shard", fmt.Sprintf("%016x", n))}
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	w.bucket.objects[f.Path()] = make([]byte, len(records))
	w.records[f.Path()] = records
}

// rows that are exact of the hours before to, the first of which is from.
func (w *world) rows(from, to archive.Hour) []table.Row {
	return w.rowsOf(func(f archive.File) bool {
		_, there := w.bucket.objects[f.Path()]
		return (there || w.keeps[f.Path()]) && f.Hour >= from && f.Hour < to
	})
}

// rowsOf are the exact rows of some files.
func (w *world) rowsOf(in func(archive.File) bool) []table.Row {
	counts := map[table.Row]uint64{}
	for path, records := range w.records {
		f, err := archive.ParseFile(path)
		require.NoError(w.t, err)
		if !in(f) {
			continue
		}
		for _, r := range records {
			counts[table.Row{Key: r.key}]++
			counts[table.Row{Group: w.group(r.group), Key: r.key}]++
		}
	}
	var rows []table.Row
	for row, n := range counts {
		row.Weight, row.Records = n, n
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b table.Row) int {
		if c := table.CompareGroups(a.Group, b.Group); c != 0 {
			return c
		}
		return strings.Compare(a.Key, b.Key)
	})
	return rows
}

func (w *world) group(name string) rule.Group { return rule.Group{Scope: rule.ScopeGroup, Name: name} }

func (w *world) count(ctx context.Context, _ *rule.Rule, at archive.Hour, files []archive.File) (*Counted, error) {
	w.now = w.now.Add(w.takes)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	if err := w.fails[at]; err != nil {
		return nil, err
	}
	w.counted[at]++
	rows := w.rowsOf(func(f archive.File) bool {
		return slices.ContainsFunc(files, func(o archive.File) bool { return o.Path() == f.Path() })
	})
	return &Counted{
		Rows: func(yield func(table.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		},
		LeftOut: w.leftOut, Close: func() error { return nil },
	}, nil
}

// start an Exact at a time, that has looked at the archive once.
func (w *world) start(at time.Time) *Exact {
	w.now = at
	x := New(w.options)
	x.flights.patience = time.Minute // the machine may be slow
	x.turn(ctx)
	return x
}

// pass lets time pass.
func (w *world) pass(x *Exact, d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(min(x.every, end.Sub(w.now)))
		x.turn(ctx)
	}
}

func (w *world) question(g rule.Group, from, to archive.Hour) *Question {
	return &Question{Rule: "tenants", Fingerprint: w.rule.Definition().Fingerprint(), Group: g, From: from, To: to}
}

// requireExact holds every list of a span against the oracle.
func (w *world) requireExact(x *Exact, from, to archive.Hour) {
	w.t.Helper()
	rows := w.rows(from, to)
	groups := map[rule.Group][]table.Row{{}: nil, w.group("nowhere"): nil}
	for _, row := range rows {
		groups[row.Group] = append(groups[row.Group], row)
	}
	for g, want := range groups {
		q := w.question(g, from, to)
		l, status := x.List(ctx, q)
		require.Equal(w.t, Exactly, status, "%v from %s to %s", g, from, to)
		sum := table.Sum{Group: g, Distinct: uint64(len(want))}
		for _, row := range want {
			sum.Weight += row.Weight
			sum.Records += row.Records
			counted, status := x.CountKey(ctx, q, row.Key)
			require.Equal(w.t, Exactly, status)
			require.Equal(w.t, row.Weight, counted.Sum.Weight)
		}
		slices.SortFunc(want, table.Heavier)
		require.Equal(w.t, sum, l.Sum)
		require.Equal(w.t, want, l.Rows)
		require.Equal(w.t, []archive.Hour{from, to}, []archive.Hour{l.From, l.To})
		none, status := x.CountKey(ctx, q, "never came")
		require.Equal(w.t, Exactly, status)
		require.Zero(w.t, none.Sum.Weight)
	}
}

func (w *world) requireStatus(x *Exact, want Status, from, to archive.Hour) {
	w.t.Helper()
	_, status := x.List(ctx, w.question(rule.Group{}, from, to))
	require.Equal(w.t, want, status, "from %s to %s", from, to)
}

// served is what a gateway would have served.
type served struct {
	mu    sync.Mutex
	lists map[archive.Hour]map[rule.Group]*ServedList
	at    uint64

	first archive.Hour // of which something is kept; 0: none is
	gone  archive.Hour // hours up to it are kept no more
	other bool         // another definition counted
}

func (s *served) Groups(_ *rule.Definition, from, to archive.Hour) ServedGroups {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := slices.SortedFunc(maps.Keys(s.lists[from]), table.CompareGroups)
	hours := map[archive.Hour]bool{}
	for at := from; at < to; at++ {
		if s.lists[at] != nil {
			hours[at] = true
		}
	}
	return ServedGroups{
		Groups: groups, Hours: hours, Version: s.at,
		Other: s.other, Expected: s.first > 0 && s.first < from, Gone: from <= s.gone,
	}
}

func (s *served) List(_ context.Context, _ *rule.Definition, g rule.Group, from, _ archive.Hour) (*ServedList, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[from][g], nil
}

var errDown = errors.New("the bucket is gone")

var ctx = context.Background()
