package shared

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// readAll is how often a reader looks through all names, and not those that changed: a server whose clock was set back would hide
// changes.
const readAll = time.Minute

// Reader hands over what changed.
type Reader struct {
	Health
	config *Config
	client *redis.Client
	keys   keys
	take   func(ctx context.Context, publications [][]byte)

	anew    atomic.Bool // there is a new connection, maybe to another server
	seen    map[string]float64
	last    float64   // the highest revision that was seen
	whole   time.Time // when all names were looked through
	pending []redis.Z // names that changed, of lists that are to be read
	batch   int       // lists that are read in one round trip

	cancel context.CancelFunc
	first  chan struct{}
	done   chan struct{}
}

// NewReader begins to hand over publications.
func NewReader(ctx context.Context, config *Config, take func(ctx context.Context, publications [][]byte), log Log) (*Reader, error) {
	r := &Reader{
		config: config, keys: keys{config.Prefix}, take: take, seen: map[string]float64{}, batch: batchLists,
		first: make(chan struct{}), done: make(chan struct{}),
	}
	r.begin(log, time.Now())
	var err error
	if r.client, err = config.connect(ctx, func() { r.anew.Store(true) }); err != nil {
		return nil, err
	}
	var running context.Context
	running, r.cancel = context.WithCancel(context.Background())
	go r.run(running)
	return r, nil
}

// First is closed once all was read for the first time, or could not be.
func (r *Reader) First() <-chan struct{} { return r.first }

func (r *Reader) run(ctx context.Context) {
	defer close(r.done)
	for n := 0; ; n++ {
		err := r.poll(ctx, time.Now())
		if ctx.Err() != nil {
			return
		}
		r.note(err, time.Now())
		if n == 0 {
			close(r.first)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.config.PollInterval):
		}
	}
}

// Close ends it, whatever the server does.
func (r *Reader) Close(context.Context) error {
	r.cancel()
	err := r.client.Close() // and with it a call that hangs
	<-r.done
	return err
}

// poll what changed since the last time, the oldest change first. What an error left unread is read the next time.
func (r *Reader) poll(ctx context.Context, now time.Time) error {
	if len(r.pending) == 0 {
		if err := r.ask(ctx, now); err != nil {
			return err
		}
	}
	for len(r.pending) > 0 {
		some := r.pending[:min(len(r.pending), r.batch)]
		if err := r.fetch(ctx, some); err != nil {
			if kindOf(err) == Timeout {
				r.batch = max(1, r.batch/2)
			}
			return err
		}
		r.pending = r.pending[len(some):]
		r.batch = min(2*r.batch, batchLists)
	}
	r.pending = nil
	return nil
}

// ask which lists changed.
func (r *Reader) ask(ctx context.Context, now time.Time) error {
	all, since := r.anew.Swap(false) || now.Sub(r.whole) >= readAll, "-inf"
	if !all {
		since = strconv.FormatFloat(r.last, 'f', 0, 64) // and what was written in the same microsecond
	}
	names, err := r.client.ZRangeByScoreWithScores(ctx, r.keys.index(), &redis.ZRangeBy{Min: since, Max: "+inf"}).Result()
	if err != nil {
		if all {
			r.anew.Store(true)
		}
		return err
	}
	seen := r.seen
	if all {
		r.seen, r.last, r.whole = make(map[string]float64, len(names)), 0, now
	}
	for _, z := range names {
		member, _ := z.Member.(string)
		if revision, known := seen[member]; known && revision == z.Score {
			r.seen[member] = revision
		} else {
			r.pending = append(r.pending, z)
		}
		r.last = z.Score
	}
	return nil
}

func (r *Reader) fetch(ctx context.Context, some []redis.Z) error {
	p := r.client.Pipeline()
	asked := make([]*redis.StringCmd, len(some))
	for i, z := range some {
		member, _ := z.Member.(string)
		asked[i] = p.HGet(ctx, r.keys.publication(member), "publication")
	}
	exec(ctx, p)
	publications := make([][]byte, 0, len(asked))
	for _, cmd := range asked {
		b, err := cmd.Bytes()
		switch {
		case err == nil:
			publications = append(publications, b)
		case errors.Is(err, redis.Nil): // it has expired
		case kindOf(err) == Other:
			r.refuse(err)
		default:
			return err
		}
	}
	if len(publications) > 0 {
		r.take(ctx, publications)
		r.Taken.Add(uint64(len(publications)))
	}
	for _, z := range some {
		member, _ := z.Member.(string)
		r.seen[member] = z.Score
	}
	return nil
}
