// Package exact counts closed hours, days and all time exactly, answers from the tables that this gives, and holds what was served
// against them.
package exact

import (
	"context"
	"io"
	"iter"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// Store is what is used of an archive.
type Store interface {
	Put(ctx context.Context, path string, write func(io.Writer) error) (int64, error)
	Open(ctx context.Context, path string) (archive.Object, error)
	Delete(ctx context.Context, path string) error
	List(ctx context.Context, prefix string) ([]archive.Entry, error)
	Files(ctx context.Context, signal string, from, to archive.Hour) ([]archive.File, []string, error)
	Abandoned(ctx context.Context, prefix string, before time.Time) (int, error)
}

// Counter counts an hour of a rule, in these files and no others.
type Counter func(ctx context.Context, r *rule.Rule, hour archive.Hour, files []archive.File) (*Counted, error)

// Counted is what a Counter found.
type Counted struct {
	Rows    iter.Seq2[table.Row, error] // sorted by scope, group and key
	Skipped rule.Skipped
	LeftOut []string // damaged or foreign files, with why
	Close   func() error
}

// Storage of audits, which may end with the process.
type Storage interface {
	// Apply shows writes.
	Apply(c *depot.Change)
	// Commit returns when what was applied is durable, or is clear not to be soon.
	Commit(ctx context.Context)
}

// Options of Exact.
type Options struct {
	Store     Store
	Rules     []*rule.Rule
	Count     Counter
	Served    Served
	Storage   Storage
	Logger    *zap.Logger
	Now       func() time.Time
	Grace     time.Duration // after the end of an hour until it is closed
	Keep      time.Duration // of hour and day tables
	Directory string        // for what is merged in steps; "": that of the system for temporary files
	Report    func(error)   // hours cannot be closed, or, with nil, can be again
}

// Exact closes hours and answers from them. Safe for concurrent use.
type Exact struct {
	Options
	every   time.Duration // how often the archive is looked through
	settle  time.Duration // how long an hour must have had no new file
	end     context.CancelFunc
	work    sync.WaitGroup
	flights flights
	audits  audits
	turns   int       // that looked at the archive
	began   time.Time // when it was first looked at

	mu      sync.RWMutex
	looked  bool // the archive was listed once
	failing bool // so it says
	signals map[string]*shelf
	ledgers map[string]*ledger // by the name of their rule
	stats   Stats

	distrusted []place // tables that were found to be gone or damaged
}

// Stats are counted since the start.
type Stats struct {
	Made    int64 // tables
	Anew    int64 // hours of them that were closed, and had new files
	Failed  int64 // tables that could not be made; they are tried again
	Removed int64 // tables that were kept long enough
	Waiting int64 // hours and days that are closed and are to be counted, now
}

const (
	longestEvery  = time.Minute
	shortestEvery = 5 * time.Second

	// fullEvery is in how many looks at the newest hours the whole archive is listed.
	fullEvery = 5
	// recentHours are listed at each look.
	recentHours = 4

	// longestSettle bounds how long new files put off that an hour is made anew.
	longestSettle = 15 * time.Minute
)

// New makes an Exact that Start sets to work.
func New(o Options) *Exact {
	x := &Exact{
		Options: o, every: min(max(o.Grace/15, shortestEvery), longestEvery), settle: min(o.Grace, time.Minute),
		signals: map[string]*shelf{}, ledgers: map[string]*ledger{},
	}
	for _, r := range o.Rules {
		d := r.Definition()
		x.ledgers[d.Name] = newLedger(r)
		for _, signal := range d.Signals {
			x.signals[signal] = &shelf{}
		}
	}
	x.flights.init()
	x.audits.init(o.Storage)
	return x
}

// Start closing hours, until Close.
func (x *Exact) Start() {
	var ctx context.Context
	ctx, x.end = context.WithCancel(context.Background())
	x.flights.ctx = ctx
	x.work.Go(func() { x.run(ctx) })
}

// Close ends what is under way; what was not finished is begun anew at the next start.
func (x *Exact) Close() {
	if x.end == nil {
		return
	}
	x.end()
	x.work.Wait()
	x.flights.work.Wait()
}

// Stats of now.
func (x *Exact) Stats() Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.stats
}
