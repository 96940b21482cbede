package shared

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/otel-topk/collector/internal/rule"
)

const (
	// patience is how much older the as_of of the larger total may be.
	patience = 15 * time.Second

	batchLists   = 100     // that are written or read in one round trip at most
	batchBytes   = 1 << 20 // of them, or one list
	writeEvery   = 200 * time.Millisecond
	longestPause = 10 * time.Second // between two tries
)

// List as it is shared.
type List struct {
	Total       uint64
	AsOf        time.Time
	JSON        []byte // the answer of the API
	Publication []byte // what a reader's store takes
	Items       []redis.Z
}

// Encode makes a list when it is written.
type Encode = func() (*List, error)

// Writer writes the newest of each list, in its own time.
type Writer struct {
	Health
	config *Config
	client *redis.Client
	keys   keys
	id     string

	mu      sync.Mutex
	waiting map[Name]Encode

	cancel context.CancelFunc
	done   chan struct{}
}

// NewWriter begins to write what Put brings. On each new connection, which may be to another server, it calls anew, which is to put
// all lists.
func NewWriter(ctx context.Context, config *Config, anew func(), log Log) (*Writer, error) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	w := &Writer{
		config: config, keys: keys{config.Prefix}, id: hex.EncodeToString(id[:]), waiting: map[Name]Encode{}, done: make(chan struct{}),
	}
	w.begin(log, time.Now())
	var err error
	if w.client, err = config.connect(ctx, anew); err != nil {
		return nil, err
	}
	var running context.Context
	running, w.cancel = context.WithCancel(context.Background())
	go w.run(running)
	return w, nil
}

// Put a list. One of that name that waits still is written no more.
func (w *Writer) Put(name Name, encode Encode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[name] = encode
}

// Waiting is how many lists are to be written.
func (w *Writer) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting)
}

func (w *Writer) run(ctx context.Context) {
	defer close(w.done)
	pause := writeEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if err := w.flush(ctx); err != nil {
			pause = min(2*pause, longestPause)
		} else {
			pause = writeEvery
		}
	}
}

// Close writes what waits, if that takes no longer than ctx, and ends.
func (w *Writer) Close(ctx context.Context) error {
	w.cancel()
	cut := context.AfterFunc(ctx, func() { _ = w.client.Close() }) // and with it a call that hangs
	<-w.done
	if w.Up() {
		_ = w.flush(ctx) // told
	}
	if !cut() {
		return nil // closed
	}
	return w.client.Close()
}

// flush what waits, until nothing does, it fails, or ctx ends, which cuts off no call: the client would keep that as an error.
func (w *Writer) flush(ctx context.Context) error {
	for ctx.Err() == nil {
		some := w.some()
		if len(some) == 0 {
			return nil
		}
		err := w.write(context.WithoutCancel(ctx), some)
		if ctx.Err() == nil || err == nil {
			w.note(err, time.Now())
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// some of those that wait.
func (w *Writer) some() map[Name]Encode {
	w.mu.Lock()
	defer w.mu.Unlock()
	some := map[Name]Encode{}
	for name, encode := range w.waiting {
		if some[name] = encode; len(some) == batchLists {
			break
		}
	}
	for name := range some {
		delete(w.waiting, name)
	}
	return some
}

// again lets those wait that were not written, unless newer ones do.
func (w *Writer) again(lists map[Name]Encode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, encode := range lists {
		if w.waiting[name] == nil {
			w.waiting[name] = encode
		}
	}
}

// write lists, in round trips of a bounded size. What an error left unwritten waits again.
func (w *Writer) write(ctx context.Context, lists map[Name]Encode) error {
	defer w.again(lists)
	commands, size := map[Name][]any{}, 0
	for name, encode := range lists {
		l, err := encode()
		if err != nil {
			delete(lists, name)
			w.refuse(fmt.Errorf("it cannot be encoded: %w", err))
			continue
		}
		commands[name] = w.command(name, l)
		if size += len(l.JSON) + len(l.Publication); size >= batchBytes {
			if err := w.send(ctx, commands, lists); err != nil {
				return err
			}
			clear(commands)
			size = 0
		}
	}
	return w.send(ctx, commands, lists)
}

// command that writes a list.
func (w *Writer) command(name Name, l *List) []any {
	member := name.member()
	at := []any{w.keys.list(member), w.keys.rank(member), w.keys.publication(member), w.keys.index(), w.keys.rules()}
	if name.Group == (rule.Group{}) {
		list, rank := w.keys.alias(name.Window)
		at = append(at, list, rank)
	}
	args := append(make([]any, 0, 19+2*len(l.Items)), "EVALSHA", put.Hash(), len(at))
	args = append(args, at...)
	args = append(args, fmt.Sprintf("%020d", l.Total), l.AsOf.UnixMilli(), w.id, w.config.Expire.Milliseconds(), member, name.Rule,
		patience.Milliseconds(), l.JSON, l.Publication)
	for _, z := range l.Items {
		args = append(args, strconv.FormatFloat(z.Score, 'f', -1, 64), z.Member)
	}
	return args
}

// send commands in one round trip, and take those off lists that the server took or refused. A server that does not know the script
// is told it, and asked again.
func (w *Writer) send(ctx context.Context, commands map[Name][]any, lists map[Name]Encode) error {
	if len(commands) == 0 {
		return nil
	}
	answers := w.exec(ctx, commands, w.client.Pipeline())
	for _, answer := range answers {
		if redis.HasErrorPrefix(answer.Err(), "NOSCRIPT") {
			p := w.client.Pipeline()
			p.ScriptLoad(ctx, putText)
			answers = w.exec(ctx, commands, p)
			break
		}
	}
	var failed error
	for name, answer := range answers {
		written, err := answer.Int()
		switch {
		case err != nil && kindOf(err) != Other:
			failed = err
			continue
		case err != nil:
			w.refuse(err)
		case written == 1:
			w.Written.Add(1)
		default:
			w.Kept.Add(1)
		}
		delete(lists, name)
	}
	return failed
}

func (w *Writer) exec(ctx context.Context, commands map[Name][]any, p redis.Pipeliner) map[Name]*redis.Cmd {
	answers := make(map[Name]*redis.Cmd, len(commands))
	for name, args := range commands {
		answers[name] = p.Do(ctx, args...)
	}
	exec(ctx, p)
	return answers
}
