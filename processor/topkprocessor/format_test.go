package topkprocessor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

const goldenRules = stored + `
shard: shard-1
lateness: 1m
`

// goldenValues are what a process stores that counted one minute, closed it, and counts the next.
func goldenValues(t *testing.T) map[string][]byte {
	values := map[string][]byte{}
	synctest.Test(t, func(t *testing.T) {
		folder, gw := t.TempDir(), &setGateway{}
		gw.down.Store(true)
		m := newMachine(t, folder)
		p, err := newFactory(connectFrom(m, gw)).CreateLogs(t.Context(), processortest.NewNopSettings(metadata.Type), mustParse(t, goldenRules), consumertest.NewNop())
		require.NoError(t, err)
		c := p.(*logs).counter
		c.epoch = goldenEpoch
		require.NoError(t, p.Start(t.Context(), m))
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b", "a")))
		time.Sleep(2*time.Minute + 3*time.Second)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "c")))
		c.vault.checkpoint()
		m.kill(t, p)
		for key, sealed := range storedValues(t, folder) {
			values[key] = sealed[9:]
		}
	})
	return values
}

func TestWhatIsStoredIsTheGoldenOne(t *testing.T) {
	values := goldenValues(t)
	var head, part, final, floor []byte
	for key, value := range values {
		prefix, _, _ := strings.Cut(key, "/")
		switch n, place, ok := partOf(key); {
		case ok && n == 4 && place == 0:
			head = golden(t, "head", value)
			assert.Equal(t, head, value)
		case ok && n == 4:
			part = golden(t, "part", value)
		case prefix+"/" == finalKey:
			final = golden(t, "final", value)
		case prefix+"/" == floorKey:
			floor = golden(t, "floor", value)
			assert.Equal(t, floor, value)
		}
	}

	v := idleVault(t)
	s := &survey{vault: v, parts: map[uint64]map[uint64][]byte{4: {0: head, 1: part}}}
	rc, _, err := s.read(4)
	require.NoError(t, err)
	c := rc.counter
	assert.Equal(t, goldenEpoch, c.epoch)
	assert.Equal(t, "shard-1", c.shard)
	assert.Equal(t, time.Minute, c.ledgers[0].clock.Lateness)
	assert.Equal(t, time.Minute, c.ledgers[0].clock.Future)
	assert.Equal(t, v.counter.cfg.Rules[0].MaxGroups, c.ledgers[0].maxGroups)
	assert.Equal(t, v.counter.ledgers[0].definition, c.ledgers[0].definition)
	finals := rc.finals(0)
	require.Len(t, finals, 1)
	assert.Equal(t, goldenNow/60_000_000_000+2, int(finals[0].State.Minute))

	epoch, minute, err := readFloor(floor)
	require.NoError(t, err)
	assert.Equal(t, goldenEpoch, epoch)
	assert.EqualValues(t, goldenNow/60_000_000_000+1, minute)

	f, err := v.decodeFinal(final, &wire.Bodies{})
	require.NoError(t, err)
	assert.Equal(t, goldenEpoch, f.State.Epoch)
	assert.True(t, f.State.Final)
	assert.EqualValues(t, goldenNow+60_000_000_000+int64(2*time.Hour), f.Expires)
}

// idleVault reads and writes values, and has no storage.
func idleVault(t testing.TB) *vault {
	t.Helper()
	c, err := newCounter(processortest.NewNopSettings(metadata.Type), mustParse(t, goldenRules), (&fakeGateway{}).connect)
	require.NoError(t, err)
	t.Cleanup(c.telemetry.shutdown)
	return c.vault
}

func FuzzStored(f *testing.F) {
	read := func(name string) []byte { return golden(f, name, nil) }
	head, part, final, floor := read("head"), read("part"), read("final"), read("floor")
	f.Add(head, part, final, floor)
	for i := range 8 {
		f.Add(head[:len(head)*i/8], part, final[:len(final)*i/8], floor[:len(floor)*i/8])
		f.Add(head, part[:len(part)*i/8], final, floor)
	}
	v := idleVault(f)
	f.Fuzz(func(t *testing.T, head, part, final, floor []byte) {
		_, _, _ = readFloor(floor)
		if got, err := v.decodeFinal(final, &wire.Bodies{}); err == nil {
			_, ok := v.encodeFinal(got)
			require.True(t, ok, "what was read is written")
		}
		s := &survey{vault: v, parts: map[uint64]map[uint64][]byte{1: {0: head, 1: part}}}
		rc, _, err := s.read(1)
		if err != nil {
			return
		}
		_ = rc.addEntry(goldenEntry())
		for _, f := range rc.finals(goldenNow) {
			_, ok := v.encodeFinal(f)
			require.True(t, ok, "what was counted is written")
		}
	})
}

// storedValues of the processor in a folder, sealed.
func storedValues(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	m := newMachine(t, folder)
	files := m.extensions[component.MustNewID("file_storage")].(*fileStorage)
	client, err := files.GetClient(t.Context(), component.KindProcessor, processortest.NewNopSettings(metadata.Type).ID, "")
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(t.Context())) }()
	values := map[string][]byte{}
	require.NoError(t, client.(storage.Walker).Walk(t.Context(), func(key string, sealed []byte) ([]*storage.Operation, error) {
		values[key] = append([]byte(nil), sealed...)
		return nil, nil
	}))
	return values
}
