package topkprocessor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

func TestFullDiskCostsNothingOnceItHasRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		gw.down.Store(true)
		m := newMachine(t, folder)
		var full atomic.Bool
		m.onWrite = func([]*storage.Operation) error {
			if full.Load() {
				return storage.ErrStorageFull
			}
			return nil
		}
		set, lines := observedSettings()
		p := m.startWith(t, set, stored, gw)
		v := p.counter.vault
		consume := func(minutes int) {
			for range minutes * 6 {
				require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "secret-key", "b")))
				time.Sleep(10 * time.Second)
			}
		}
		consume(5)
		full.Store(true)
		consume(10)
		assert.False(t, v.isUp())
		assert.NotZero(t, v.failures.Load())
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, m.statuses())
		full.Store(false)
		time.Sleep(2 * checkpointRetry)
		assert.True(t, v.isUp())
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, m.statuses())
		consume(1)
		m.kill(t, p)

		gw.down.Store(false)
		m = newMachine(t, folder)
		stop(t, m.start(t, stored, gw))
		assert.EqualValues(t, 2*6*16, gw.total("tenants"))
		assert.Empty(t, gw.wrong)
		var failing []string
		for _, line := range warnings(lines) {
			if strings.HasPrefix(line, "Storing fails") {
				failing = append(failing, line)
			}
			assert.NotContains(t, line, "secret-key")
		}
		assert.Len(t, failing, 2, "once when the disk was full, once when the process was killed")
	})
}

func TestJournalStaysBoundedWhereCheckpointsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		m := newMachine(t, folder)
		var fail atomic.Bool
		m.onWrite = func(ops []*storage.Operation) error {
			if fail.Load() && slices.ContainsFunc(ops, func(op *storage.Operation) bool { return strings.HasPrefix(op.Key, checkpointKey) }) {
				return storage.ErrStorageFull
			}
			return nil
		}
		p := m.start(t, stored, &setGateway{})
		fail.Store(true)
		const minutes = 30
		for range minutes * 60 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
			time.Sleep(time.Second)
		}
		fail.Store(false)
		time.Sleep(2 * checkpointRetry)
		assert.True(t, p.counter.vault.isUp())
		m.kill(t, p)
		entries := 0
		for key := range storedValues(t, folder) {
			if strings.HasPrefix(key, journalKey) {
				entries++
			}
		}
		assert.Less(t, entries, 2*int(checkpointEvery/time.Second)+10, "of %d", minutes*60)
	})
}

func TestJournalIsShortenedAsItGrows(t *testing.T) {
	folder := t.TempDir()
	m := newMachine(t, folder)
	p := m.start(t, stored, &setGateway{})
	v := p.counter.vault
	long := strings.Repeat("x", 200)
	for request := range 40 {
		names := make([]string, 5000)
		for i := range names {
			names[i] = fmt.Sprint(request, "-", i, long)
		}
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), names...)))
	}
	require.Eventually(t, func() bool { return v.size.Load() < maxJournal }, 10*time.Second, time.Millisecond, "not after 30 s only")
	for range 3 {
		v.checkpoint()
		for v.oldest < v.needed {
			v.deleteOld(1000)
			v.commit()
		}
	}
	m.kill(t, p)
	var sizes int
	checkpoints := map[uint64]bool{}
	for key, value := range storedValues(t, folder) {
		sizes += len(value)
		if n, _, ok := partOf(key); ok {
			checkpoints[n] = true
		}
	}
	assert.Len(t, checkpoints, 2)
	assert.Less(t, sizes, 1<<20, "nothing is left of the journal")
}

func TestStorageThatCannotBeOpenedIsToldAndAllGoesOnWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		other := newMachine(t, folder)
		holder := other.start(t, stored, &setGateway{})
		defer stop(t, holder)

		m, second := newMachine(t, folder), newMachine(t, folder)
		set, lines := observedSettings()
		f, cfg := newFactory(connectFrom(m, gw)), mustParse(t, stored)
		both := make([]processor.Logs, 2)
		for i, host := range []*machine{m, second} {
			var err error
			both[i], err = f.CreateLogs(t.Context(), set, cfg, consumertest.NewNop())
			require.NoError(t, err)
			require.NoError(t, both[i].Start(t.Context(), host))
		}
		p := both[0].(*logs)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
		time.Sleep(time.Minute)
		for _, p := range both {
			stop(t, p)
		}
		assert.EqualValues(t, 2, gw.total("tenants"))
		for _, host := range []*machine{m, second} {
			assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.statuses(), "in every pipeline")
		}
		got := warnings(lines)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "The storage cannot be used")
		assert.False(t, p.counter.vault.isUp())
	})
}

func TestMisconfiguredStorageIsAStartError(t *testing.T) {
	for _, tt := range []struct {
		name       string
		extensions map[component.ID]component.Component
		want       string
	}{
		{"no such extension", nil, `storage: there is no extension "file_storage"`},
		{
			"an extension that stores nothing",
			map[component.ID]component.Component{component.MustNewID("file_storage"): nopExtension(t)},
			`storage: "file_storage" is no storage extension`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gw := &setGateway{}
			m := &machine{Host: componenttest.NewNopHost(), extensions: tt.extensions}
			p, err := newFactory(connectFrom(m, gw)).CreateLogs(t.Context(), processortest.NewNopSettings(metadata.Type), mustParse(t, stored), consumertest.NewNop())
			require.NoError(t, err)
			require.ErrorContains(t, p.Start(t.Context(), m), tt.want)
			stop(t, p)
		})
	}
}

func nopExtension(t *testing.T) component.Component {
	factory := extensiontest.NewNopFactory()
	nop, err := factory.Create(t.Context(), extensiontest.NewNopSettings(factory.Type()), factory.CreateDefaultConfig())
	require.NoError(t, err)
	return nop
}

// damage the stored values whose keys are chosen.
func damage(t *testing.T, folder string, chosen func(key string) bool) (n int) {
	t.Helper()
	values := storedValues(t, folder)
	m := newMachine(t, folder)
	files := m.extensions[component.MustNewID("file_storage")].(*fileStorage)
	client, err := files.GetClient(t.Context(), component.KindProcessor, processortest.NewNopSettings(metadata.Type).ID, "")
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(t.Context())) }()
	for key, value := range values {
		if chosen(key) {
			value[len(value)/2] ^= 1
			require.NoError(t, client.Set(context.Background(), key, value))
			n++
		}
	}
	return n
}

// newest checkpoint's key.
func newest(t *testing.T, folder string, part uint64) string {
	t.Helper()
	var number uint64
	for key := range storedValues(t, folder) {
		if n, _, ok := partOf(key); ok {
			number = max(number, n)
		}
	}
	return partKey(number, int(part))
}

func TestDamagedNewestCheckpointIsReplacedByTheOneBefore(t *testing.T) {
	for part, name := range []string{"its head", "its states"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder, gw := t.TempDir(), &setGateway{}
				m := newMachine(t, folder)
				p := m.start(t, stored, gw)
				for range 100 {
					require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "secret-key")))
					time.Sleep(time.Second)
				}
				m.kill(t, p)
				key := newest(t, folder, uint64(part))
				require.Equal(t, 1, damage(t, folder, func(k string) bool { return k == key }))

				m = newMachine(t, folder)
				set, lines := observedSettings()
				p = m.startWith(t, set, stored, gw)
				assert.EqualValues(t, 1, p.counter.vault.damaged())
				stop(t, p)
				assert.EqualValues(t, 100, gw.total("tenants"), "the journal reaches back to the one before")
				assert.Empty(t, gw.wrong)
				got := warnings(lines)
				require.Len(t, got, 1)
				assert.Contains(t, got[0], "damaged")
				assert.NotContains(t, got[0], "secret-key")
				assert.Contains(t, storedValues(t, folder), "damaged/"+key)
			})
		})
	}
}

func TestLossByDamageIsReported(t *testing.T) {
	for _, tt := range []struct {
		name   string
		chosen func(key string) bool
		left   uint64
		lines  int
	}{
		{"both checkpoints", func(key string) bool { return strings.HasPrefix(key, checkpointKey) }, 0, 2},
		{"an entry", func(key string) bool { return key == numbered(journalKey, 5) }, 8, 1},
		{"a floor that is not there", func(key string) bool { return strings.HasPrefix(key, floorKey) }, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder, gw := t.TempDir(), &setGateway{}
				m := newMachine(t, folder)
				p := m.start(t, stored, gw)
				for range 5 {
					require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
				}
				m.kill(t, p)
				damage(t, folder, tt.chosen)
				m = newMachine(t, folder)
				set, lines := observedSettings()
				stop(t, m.startWith(t, set, stored, gw))
				assert.Equal(t, tt.left, gw.total("tenants"))
				assert.Len(t, warnings(lines), tt.lines)
			})
		})
	}
}

func TestAStateOfAnotherDefinitionIsNoPartOfACheckpoint(t *testing.T) {
	m := newMachine(t, t.TempDir())
	p := m.start(t, stored, &setGateway{})
	defer stop(t, p)
	cfg := mustParse(t, strings.Replace(tenants, "    key:", "    group_by: log.attributes[\"region\"]\n    key:", 1))
	other, err := newLedger(0, cfg, 1, processortest.NewNopSettings(metadata.Type).TelemetrySettings)
	require.NoError(t, err)
	rc, err := newRecount(p.counter.vault, p.counter.run(), 0)
	require.NoError(t, err)
	s := &wire.State{
		Epoch: p.counter.epoch, Rule: other.definition, Minute: 1 << 24, Group: rule.Group{Scope: rule.ScopeGroup, Name: "eu"}, Groups: 1,
		Summary: other.empty.Clone(),
	}
	assert.ErrorIs(t, rc.addState(s), errStored)
}
