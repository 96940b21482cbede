package depot

import (
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLaw compares a depot on the real extension with two maps, one of what is seen and one of what is durable, while commits
// fail and the process ends at any time.
func TestLaw(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		require.NoError(t, err)
		m := &model{dir: dir, seen: map[string]string{}, durable: map[string]string{}}
		m.open(t)
		defer func() { require.NoError(t, m.disk.Close(ctx)) }()
		t.Repeat(map[string]func(*rapid.T){
			"":       m.check,
			"set":    m.set,
			"delete": func(t *rapid.T) { key := drawKey(t); m.d.Delete(key); delete(m.seen, key) },
			"apply":  m.apply,
			"forget": m.forget,
			"commit": m.commit,
			"disk":   func(t *rapid.T) { m.disk.full.Store(rapid.Bool().Draw(t, "full")) },
			"end":    m.end,
		})
	})
}

type model struct {
	dir           string
	d             *Depot
	disk          *client
	seen, durable map[string]string
}

func drawKey(t *rapid.T) string { return fmt.Sprintf("key/%d", rapid.IntRange(0, 5).Draw(t, "key")) }

func drawValue(t *rapid.T) string { return rapid.StringN(0, 20, -1).Draw(t, "value") }

func (m *model) open(t *rapid.T) {
	d, held := reopen(t, m.dir)
	require.Equal(t, m.durable, held)
	m.d, m.disk = d, failing(d)
}

func (m *model) set(t *rapid.T) {
	key, value := drawKey(t), []byte(drawValue(t))
	m.seen[key] = string(value)
	require.NoError(t, m.d.Set(key, value))
	clear(value) // it belongs to the caller
}

func (m *model) apply(t *rapid.T) {
	var c Change
	for range rapid.IntRange(1, 3).Draw(t, "writes") {
		key := drawKey(t)
		if rapid.Bool().Draw(t, "delete") {
			c.Delete(key)
			delete(m.seen, key)
		} else {
			m.seen[key] = drawValue(t)
			require.NoError(t, c.Set(key, []byte(m.seen[key])))
		}
		value, ok := c.Get(key)
		want, set := m.seen[key]
		require.True(t, ok)
		require.Equal(t, set, value != nil)
		require.Equal(t, want, string(value))
	}
	m.d.Apply(&c)
	require.Empty(t, c.writes)
}

func (m *model) forget(t *rapid.T) {
	key := drawKey(t)
	m.d.Forget(key)
	if value, ok := m.durable[key]; ok {
		m.seen[key] = value
	} else {
		delete(m.seen, key)
	}
}

func (m *model) commit(t *rapid.T) {
	if err := m.d.Commit(ctx); err == nil {
		m.durable = maps.Clone(m.seen)
	} else {
		require.ErrorIs(t, err, errFull)
		require.True(t, m.disk.full.Load())
	}
}

// end is a clean one, or that of a process that is killed.
func (m *model) end(t *rapid.T) {
	if rapid.Bool().Draw(t, "clean") {
		if err := m.d.Close(ctx); err == nil {
			m.durable = maps.Clone(m.seen)
		} else {
			require.ErrorIs(t, err, errFull)
		}
	} else {
		require.NoError(t, m.disk.Close(ctx))
	}
	m.seen = maps.Clone(m.durable)
	m.open(t)
}

func (m *model) check(t *rapid.T) {
	keys := []string{"key/0", "key/1", "key/2", "key/3", "key/4", "key/5"}
	all, err := m.d.GetAll(ctx, keys)
	require.NoError(t, err)
	for i, key := range keys {
		got, err := m.d.Get(ctx, key)
		require.NoError(t, err)
		want, ok := m.seen[key]
		require.Equal(t, ok, got != nil, key)
		require.Equal(t, want, string(got), key)
		require.Equal(t, got, all[i], key)
	}
	require.Zero(t, m.d.Damaged())
	for key, w := range m.d.buffer {
		_, durable := m.durable[key]
		require.True(t, durable || w.value() != nil, "%s is not stored: nothing is to be deleted", key)
	}
}
