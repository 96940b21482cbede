package board

import (
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// small is a shelf with values of each kind: a folded minute, live states, one of which counts in scope overflow, a shard that is
// gone, incidents, and a group with a long name.
func small(t testing.TB) (Config, *shelf) {
	cfg := wallConfig()
	s := newShelf()
	cfg.Shelf, cfg.KeepHours, cfg.MaxGroups = s, 90*24*time.Hour, 2
	b := New(cfg)
	d := grouped(t, "tenants")
	d.MaxKeyBytes = 1000
	a, c := newShard(t, 1, "a", d), newShard(t, 2, "c", d)
	eu := rule.Group{Scope: rule.ScopeGroup, Name: "eu"}
	long := rule.Group{Scope: rule.ScopeGroup, Name: strings.Repeat("long ", 60)}
	a.add(noon, eu, "x", 2)
	a.add(noon, long, "y", 3)
	a.add(noon, rule.Group{Scope: rule.ScopeMissing}, "z", 1)
	now := noon + int64(3*time.Minute)
	a.report.Rules[0].Late = 7
	require.NoError(t, b.Report(&a.report, now))
	accept(t, b, now, a.send(window.MinuteOf(noon), true)...)
	b.Publish(now)
	a.report.Rules[0].Late = 9
	a.report.Goodbye = true
	require.NoError(t, b.Report(&a.report, now))
	c.add(now, eu, "x", 2)
	c.add(now, rule.Group{Scope: rule.ScopeGroup, Name: "asia"}, "x", 5)
	accept(t, b, now, c.send(window.MinuteOf(now), false)...)
	return cfg, s
}

// TestStoredValuesAreTheGoldenOnes: the bytes must not change within a version.
func TestStoredValuesAreTheGoldenOnes(t *testing.T) {
	_, s := small(t)
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		value := s.values[key]
		if strings.HasPrefix(key, partPrefix) { // a compressor may do better one day
			kind, name, compressed, ok := readPart(value)
			require.True(t, ok)
			codec := newCodec()
			expanded, err := codec.expand.DecodeAll(compressed, nil)
			require.NoError(t, err)
			value = append(field.AppendText([]byte{valueVersion, kind}, name), expanded...)
		}
		fmt.Fprintf(&out, "%s\n%s\n", key, hex.EncodeToString(value))
	}
	const path = "testdata/values.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

// TestDamagedValuesLeaveTheRest takes each value away, cuts it, and fills it with something else, in turn: the board starts, says
// what it could not read, counts nothing twice, and has nothing left to say when it starts once more.
func TestDamagedValuesLeaveTheRest(t *testing.T) {
	cfg, whole := small(t)
	now := noon + int64(3*time.Minute)
	totals := func(b *Board) (all map[listKey]uint64, damaged bool) {
		all = map[listKey]uint64{}
		for _, l := range b.Publish(now).Changed {
			all[listKey{l.Snapshot.Window, l.Snapshot.Group}] = l.Snapshot.Total
			damaged = damaged || slices.Contains(l.Snapshot.PartialReasons, reasonDamaged)
		}
		return all, damaged
	}
	want, _ := totals(restored(t, cfg, now))
	for _, key := range slices.Sorted(maps.Keys(whole.values)) {
		for name, damage := range map[string]func(value []byte) []byte{
			"gone":           func([]byte) []byte { return nil },
			"cut":            func(v []byte) []byte { return v[:len(v)-1] },
			"empty":          func([]byte) []byte { return []byte{} },
			"longer":         func(v []byte) []byte { return append(slices.Clone(v), 0) },
			"of version 2":   func(v []byte) []byte { return append([]byte{2}, v[1:]...) },
			"something else": func([]byte) []byte { return []byte(strings.Repeat("\x01\xff", 20)) },
		} {
			t.Run(key+" "+name, func(t *testing.T) {
				s := &shelf{values: maps.Clone(whole.values), aside: map[string][]byte{}}
				if s.values[key] = damage(s.values[key]); s.values[key] == nil {
					delete(s.values, key)
				}
				cfg.Shelf = s
				b := restored(t, cfg, now)
				got, damaged := totals(b)
				checkAccounts(t, b)
				if name != "gone" && !damaged {
					require.Equal(t, want, got)
				}
				for key, total := range got {
					require.LessOrEqual(t, total, want[key], "%v", key)
				}
				again := restored(t, cfg, now)
				require.Zero(t, again.Stats().Unfit, "what fitted nothing is gone")
				require.Zero(t, again.Stats().Unreadable, "what cannot be read was set aside")
			})
		}
	}
}

// FuzzRestore puts any value among those that were stored.
func FuzzRestore(f *testing.F) {
	cfg, whole := small(f)
	for key, value := range whole.values {
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		s := &shelf{values: maps.Clone(whole.values), aside: map[string][]byte{}}
		s.values[key] = value
		cfg := cfg
		cfg.Shelf = s
		now := noon + int64(3*time.Minute)
		b := restored(t, cfg, now)
		b.Publish(now)
		checkAccounts(t, b)
		again := restored(t, cfg, now)
		require.Zero(t, again.Stats().Unfit, "what fitted nothing is gone")
		require.Zero(t, again.Stats().Unreadable, "what could not be read was set aside")
		again.Publish(now + int64(time.Minute))
	})
}

// TestKeysAreKeptApart keeps keys apart that could be taken for each other.
func TestKeysAreKeptApart(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"", "a", "a/b", "global", "overflow", "group:a", "long:00", strings.Repeat("a", longName-1), strings.Repeat("a", longName), strings.Repeat("a", 60_000)} {
		for _, g := range []rule.Group{{Scope: rule.ScopeGroup, Name: name}, global, overflow, {Scope: rule.ScopeMissing}} {
			text := groupText(g)
			require.LessOrEqual(t, len(text), len(textGroup)+longName)
			if other, ok := seen[text]; ok {
				require.Equal(t, other, fmt.Sprint(g))
			}
			seen[text] = fmt.Sprint(g)
			back, long, ok := groupOf(text)
			require.True(t, ok)
			require.Equal(t, len(g.Name) >= longName, long)
			if !long {
				require.Equal(t, g, back)
			}
		}
	}
	for _, text := range []string{"", "group", "grouped", "1-", "61-0", "60-30", "5--5", "1-999999999999", "60-0x10"} {
		_, _, ok := groupOf(text)
		require.False(t, ok, text)
		_, ok = partOf(text)
		require.False(t, ok, text)
	}
}
