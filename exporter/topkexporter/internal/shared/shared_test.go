package shared

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otel-topk/collector/internal/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server, and what a reader took of it.
type world struct {
	testing.TB
	server *miniredis.Miniredis
	config Config

	mu    sync.Mutex
	taken []string
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, server: miniredis.RunT(t), config: NewDefaultConfig()}
	w.config.Endpoint, w.config.PollInterval, w.config.Timeout = w.server.Addr(), 10*time.Millisecond, time.Second
	return w
}

// heard is what the log of a writer or reader hears.
type heard struct {
	mu               sync.Mutex
	failing, refused []error
}

func (h *heard) log() Log {
	into := func(all *[]error) func(error) {
		return func(err error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			*all = append(*all, err)
		}
	}
	return Log{Failing: into(&h.failing), Refused: into(&h.refused)}
}

func (w *world) writer() *Writer {
	of := w.writerThat(func() {}, Log{})
	w.Cleanup(func() { require.NoError(w, of.Close(context.Background())) })
	return of
}

func (w *world) writerThat(anew func(), log Log) *Writer {
	of, err := NewWriter(w.Context(), &w.config, anew, log)
	require.NoError(w, err)
	return of
}

func (w *world) reader() *Reader {
	of, err := NewReader(w.Context(), &w.config, func(_ context.Context, publications [][]byte) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, p := range publications {
			w.taken = append(w.taken, string(p))
		}
	}, Log{})
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, of.Close(context.Background())) })
	return of
}

// eventually waits until the answer is yes.
func (w *world) eventually(holds func() bool, what ...any) {
	w.Helper()
	require.Eventually(w, holds, 20*time.Second, time.Millisecond, what...)
}

// last publication that was taken.
func (w *world) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.taken) == 0 {
		return ""
	}
	return w.taken[len(w.taken)-1]
}

var hour = Name{Rule: "tenants", Window: time.Hour}

// list of a total at some milliseconds, whose text says both.
func list(total uint64, at int64) Encode {
	return func() (*List, error) {
		text := fmt.Sprintf("%d at %d", total, at)
		return &List{
			Total: total, AsOf: time.UnixMilli(1_700_000_000_000 + at), JSON: []byte(text), Publication: []byte(text),
			Items: []redis.Z{{Score: float64(total), Member: "key"}},
		}, nil
	}
}

func (w *world) put(by *Writer, name Name, encode Encode) {
	w.Helper()
	before := by.Written.Load() + by.Kept.Load()
	by.Put(name, encode)
	w.eventually(func() bool { return by.Written.Load()+by.Kept.Load() > before })
}

func (w *world) get(key string) string {
	v, err := w.server.Get(key)
	if err != nil {
		return ""
	}
	return v
}

func TestOfTwoWritersTheLargerTotalStaysUnlessItIsOlder(t *testing.T) {
	w := newWorld(t)
	a, b := w.writer(), w.writer()
	for _, step := range []struct {
		by    *Writer
		total uint64
		at    int64
		want  string
	}{
		{a, 100, 0, "100 at 0"},
		{b, 99, 1000, "100 at 0"},
		{b, 100, 1, "100 at 1"},
		{a, 100, 1, "100 at 1"},
		{a, 90, 2000, "100 at 1"},
		{b, 80, 3000, "80 at 3000"}, // its own
		{a, 1000, -12_001, "80 at 3000"},
		{a, 1000, -12_000, "1000 at -12000"},
		{b, 70, 3000, "1000 at -12000"},
		{b, 70, 3001, "70 at 3001"},
		{a, 1000, -12_000, "70 at 3001"},
		{a, 1 << 62, 5000, "4611686018427387904 at 5000"},
		{b, 1<<62 - 1, 6000, "4611686018427387904 at 5000"},
	} {
		w.put(step.by, hour, list(step.total, step.at))
		assert.Equal(t, step.want, w.get("topk:list:tenants:1h:global"), "%d at %d", step.total, step.at)
	}
}

func TestAListHasItsKeysAndAnAlias(t *testing.T) {
	w := newWorld(t)
	a := w.writer()
	w.put(a, hour, list(7, 0))
	assert.Equal(t, "7 at 0", w.get("top:1h"))
	for _, key := range []string{"topk:rank:tenants:1h:global", "top:1h:rank"} {
		score, err := w.server.ZScore(key, "key")
		require.NoError(t, err)
		assert.EqualValues(t, 7, score)
	}
	for _, key := range w.server.Keys() {
		assert.Equal(t, 24*time.Hour, w.server.TTL(key), key)
	}
}

func TestTheAliasIsOfTheOnlyRuleThatAnyWriterHas(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	w.server.SetTime(now)
	group := Name{Rule: "other", Window: time.Hour, Group: rule.Group{Scope: rule.ScopeGroup, Name: "eu"}}
	aliased := func() bool { return w.server.Exists("top:1h") && w.server.Exists("top:1h:rank") }
	w.put(w.writer(), hour, list(7, 0))
	assert.True(t, aliased())
	other := w.writer() // another gateway, or the same one started again
	w.put(other, group, list(8, 0))
	w.put(other, Name{Rule: "other", Window: time.Hour}, list(8, 0))
	assert.False(t, w.server.Exists("top:1h"))
	assert.False(t, w.server.Exists("top:1h:rank"))
	w.put(w.writer(), hour, list(9, 1))
	assert.False(t, aliased(), "also where its writer knows one rule")
	w.server.SetTime(now.Add(w.config.Expire + time.Second)) // the other one has expired
	w.put(w.writer(), hour, list(10, 2))
	assert.Equal(t, "10 at 2", w.get("top:1h"))
	w.put(w.writer(), Name{Rule: "tenants", Window: time.Hour, Group: group.Group}, list(3, 2))
	assert.Equal(t, "10 at 2", w.get("top:1h"), "the list of a group has none")
}

func TestListsThatEndedLeaveTheIndex(t *testing.T) {
	w := newWorld(t)
	a, now := w.writer(), time.Now()
	w.server.SetTime(now)
	for i := range 10 {
		w.put(a, Name{Rule: fmt.Sprint(i), Window: time.Hour}, list(1, 0))
	}
	w.server.SetTime(now.Add(w.config.Expire - time.Second))
	w.put(a, hour, list(1, 0))
	for _, key := range []string{"topk:lists", "topk:rules"} {
		members, err := w.server.ZMembers(key)
		require.NoError(t, err)
		assert.Len(t, members, 11)
	}
	w.server.SetTime(now.Add(w.config.Expire + time.Second))
	w.put(a, hour, list(2, 1))
	for key, want := range map[string]string{"topk:lists": "tenants:1h:global", "topk:rules": "tenants"} {
		members, err := w.server.ZMembers(key)
		require.NoError(t, err)
		assert.Equal(t, []string{want}, members)
	}
}

func TestNamesDoNotMeet(t *testing.T) {
	group := func(name string) rule.Group { return rule.Group{Scope: rule.ScopeGroup, Name: name} }
	seen := map[string]Name{}
	for _, name := range []Name{
		hour,
		{Rule: "a:1h", Window: time.Hour},
		{Rule: "a", Window: time.Hour, Group: group("1h:global")},
		{Rule: "a", Window: time.Hour, Group: group("")},
		{Rule: "a", Window: time.Hour, Group: rule.Group{Scope: rule.ScopeMissing}},
		{Rule: "a", Window: time.Hour, Group: group("missing")},
		{Rule: "a b", Window: time.Hour},
		{Rule: "a+b", Window: time.Hour},
		{Rule: "a%20b", Window: time.Hour},
		{Rule: "a", Window: 5 * time.Minute},
		{Rule: "a\x00\u202e", Window: time.Hour},
	} {
		m := name.member()
		assert.NotContains(t, seen, m, "%v and %v", name, seen[m])
		seen[m] = name
	}
}

func TestAllProblemsAreTold(t *testing.T) {
	c := Config{Endpoint: "redis", DB: -1, Timeout: time.Hour}
	var text string
	for _, err := range c.Problems() {
		text += err.Error() + "\n"
	}
	for _, want := range []string{
		`endpoint: "redis" is no host:port such as localhost:6379`, "db: -1 is negative", "prefix: 0 bytes; allowed: 1 to 128",
		"timeout: 1h0m0s is out of range; allowed: 10ms to 1m0s", "expire: 0s is out of range", "poll_interval: 0s is out of range",
	} {
		assert.Contains(t, text, want)
	}
}
