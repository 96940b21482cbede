package topkexporter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/metadatatest"
	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

const aside = "damaged/"

// damagedDay keeps three hours of a rule with one group and the lists of two.
func damagedDay(t *testing.T) (*disk, []*wire.Rollup) {
	d := &disk{}
	e := openedAt(t, hostOf(d))
	def := tenants(t, grouped)
	var rollups []*wire.Rollup
	for n := range 3 {
		rollups = append(rollups, hourly(t, def, hourAt(n), map[string]uint64{"a": 10}),
			rollup(def, hourAt(n), group("eu"), summaryOf(t, def, map[string]uint64{"a": 10})))
	}
	roll(t, e, rollups...)
	e.store.takeLists([]*wire.Snapshot{groupList(t, "tenants", "a"), groupList(t, "tenants", "b")}, nil, noon)
	require.NoError(t, e.shutdown(t.Context()))
	return d, rollups
}

func past3(t *testing.T, e *topkExporter, query string) trend {
	e.handler.now = func() time.Time { return noon.Add(24 * time.Hour) }
	return decode[trend](t, get(e, "/v1/trending?rule=tenants&from="+at(hourAt(0))+"&to="+at(hourAt(3))+query))
}

func TestADamagedListIsSetAside(t *testing.T) {
	d, _ := damagedDay(t)
	damaged := d.keys(listPrefix)[0]
	d.spoil(damaged)
	e, tel, logged := observed(t, hostOf(d))
	metadatatest.AssertEqualExporterTopkStoredDamaged(t, tel, value(1), metricdatatest.IgnoreTimestamp())
	assert.Equal(t, 1, e.store.catalog().lists)
	assert.Equal(t, uint64(1), e.store.storage.depot.Damaged())
	assert.Equal(t, []string{aside + damaged}, d.keys(aside))
	e.store.takeLists([]*wire.Snapshot{groupList(t, "tenants", "a"), groupList(t, "tenants", "b")}, nil, noon)
	assert.Len(t, d.keys(listPrefix), 2, "the next publication heals it")
	require.Equal(t, 1, logged.Len(), "it is told once")
	assert.Equal(t, zap.ErrorLevel, logged.All()[0].Level)
	assert.NotContains(t, fmt.Sprint(logged.All()[0]), listPrefix)
}

func TestADamagedRollupIsLeftOutSaidAndHealed(t *testing.T) {
	d, rollups := damagedDay(t)
	e := opened(t, d)
	p := e.store.history.plan("tenants", rule.Group{}, span{hourAt(0), hourAt(3)}, noon.Add(24*time.Hour))
	d.spoil(p.reads[1].key)
	got := past3(t, e, "")
	assert.Equal(t, uint64(20), got.Total)
	assert.Equal(t, []string{reasonDamaged}, got.PartialReasons)
	assert.Equal(t, uint64(1), e.store.storage.depot.Damaged())
	got = past3(t, e, "")
	assert.Equal(t, uint64(20), got.Total)
	assert.Equal(t, []string{reasonMissing}, got.PartialReasons, "it is known now that there is none")
	assert.Equal(t, uint64(30), past3(t, e, "&group=eu").Total)

	roll(t, e, rollups...)
	assert.Equal(t, uint64(30), past3(t, e, "").Total, "the gateway repeats it")
	assert.Empty(t, past3(t, e, "").PartialReasons)
	require.NoError(t, e.shutdown(t.Context()))
	again := opened(t, d)
	assert.Equal(t, uint64(30), past3(t, again, "").Total)
	assert.Empty(t, past3(t, again, "").PartialReasons)
	assert.Equal(t, e.store.history.size(), again.store.history.size())
}

func TestADamagedIndexLosesItsHourAndLeavesNoRollupBehind(t *testing.T) {
	d, rollups := damagedDay(t)
	damaged := d.keys(hourPrefix)[1]
	d.spoil(damaged)
	e := opened(t, d)
	got := past3(t, e, "")
	assert.Equal(t, uint64(20), got.Total)
	assert.Equal(t, []string{reasonMissing}, got.PartialReasons)
	assert.Equal(t, []string{aside + damaged}, d.keys(aside))
	assert.Len(t, d.keys(rollupPrefix), 4)
	roll(t, e, rollups...)
	assert.Equal(t, uint64(30), past3(t, e, "").Total)
	assert.Len(t, d.keys(rollupPrefix), 6)
}

func TestARollupThatIsGoneIsLeftOut(t *testing.T) {
	d, _ := damagedDay(t)
	delete(d.values, d.keys(rollupPrefix)[0])
	e := opened(t, d)
	assert.Equal(t, int64(5), e.store.history.size().rollups)
	got := past3(t, e, "")
	assert.Equal(t, uint64(20), got.Total)
	assert.Equal(t, uint64(30), past3(t, e, "&group=eu").Total)
	assert.Equal(t, []string{reasonMissing}, got.PartialReasons)
}

// TestWhatWasWrittenWholeAndMakesNoSenseIsSetAside: values with a good seal that hold something else.
func TestWhatWasWrittenWholeAndMakesNoSenseIsSetAside(t *testing.T) {
	otherList := func(key string, _ []byte) []byte { return encoded(t, &list{Snapshot: groupList(t, "r", key)}) }
	noList := func(string, []byte) []byte { return append(make([]byte, timeBytes), compress(nil)...) }
	foreign := func(string, []byte) []byte {
		ld := plog.NewLogs()
		ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("private")
		b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		require.NoError(t, err)
		return append(make([]byte, timeBytes), compress(b)...)
	}
	bomb := func(string, []byte) []byte {
		return append(make([]byte, timeBytes), compress(make([]byte, mostExpanded+1))...)
	}
	cut := func(_ string, value []byte) []byte { return value[:len(value)-1] }
	change := func(edit func([]byte) []byte) func(string, []byte) []byte {
		return func(_ string, value []byte) []byte {
			expanded, err := expand(value, nil)
			require.NoError(t, err)
			return compress(edit(expanded))
		}
	}
	for _, tt := range []struct {
		name, prefix string
		edit         func(key string, value []byte) []byte
	}{
		{"an empty list", listPrefix, func(string, []byte) []byte { return nil }},
		{"a list of nothing", listPrefix, noList},
		{"a list of something else", listPrefix, foreign},
		{"a list under the key of another", listPrefix, otherList},
		{"a list that is cut", listPrefix, cut},
		{"a list that expands without end", listPrefix, bomb},
		{"an empty index", hourPrefix, func(string, []byte) []byte { return nil }},
		{"an index that is cut", hourPrefix, change(func(b []byte) []byte { return b[:len(b)-1] })},
		{"an index with more behind it", hourPrefix, change(func(b []byte) []byte { return append(b, 0) })},
		{"an index of another definition", hourPrefix, change(func(b []byte) []byte {
			def, err := wire.EncodeDefinition(tenants(t))
			require.NoError(t, err)
			in := field.New(b)
			in.Text(wire.MaxDefinitionBytes)
			return append(field.AppendText(nil, def), in.Rest()...)
		})},
		{"an index that expands without end", hourPrefix, func(string, []byte) []byte { return compress(make([]byte, mostExpanded+1)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := damagedDay(t)
			key := d.keys(tt.prefix)[0]
			store := depot.New(d)
			value, err := store.Get(t.Context(), key)
			require.NoError(t, err)
			require.NoError(t, store.Set(key, tt.edit(key, value)))
			require.NoError(t, store.Close(t.Context()))
			e := opened(t, d)
			assert.Equal(t, uint64(1), e.store.storage.depot.Damaged())
			assert.Equal(t, []string{aside + key}, d.keys(aside))
		})
	}
}

func TestARollupOfAnotherHourIsNotTakenForThatOfThisOne(t *testing.T) {
	for name, other := range map[string]*wire.Rollup{
		"hour":       hourly(t, tenants(t, grouped), hourAt(7), map[string]uint64{"a": 1000}),
		"group":      rollup(tenants(t, grouped), hourAt(0), group("us"), summaryOf(t, tenants(t), map[string]uint64{"a": 1000})),
		"rule":       hourly(t, tenants(t, grouped, called("other")), hourAt(0), map[string]uint64{"a": 1000}),
		"definition": hourly(t, tenants(t, grouped, func(d *rule.Definition) { d.Shape.Width++ }), hourAt(0), map[string]uint64{"a": 1000}),
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := damagedDay(t)
			e := opened(t, d)
			p := e.store.history.plan("tenants", rule.Group{}, span{hourAt(0), hourAt(3)}, noon.Add(24*time.Hour))
			body, err := wire.EncodeRollup(other)
			require.NoError(t, err)
			require.NoError(t, e.store.storage.depot.Set(p.reads[0].key, compress(body)))
			got := past3(t, e, "")
			assert.Equal(t, uint64(20), got.Total)
			assert.Equal(t, []string{reasonDamaged}, got.PartialReasons)
			assert.Equal(t, uint64(1), e.store.storage.depot.Damaged())
		})
	}
}

func TestAStorageThatCannotBeReadIsSaid(t *testing.T) {
	d, _ := damagedDay(t)
	e := opened(t, d)
	d.turn(errFull)
	got := past3(t, e, "")
	assert.Zero(t, got.Total)
	assert.Equal(t, []string{reasonStorage}, got.PartialReasons)
	d.turn(nil)
	assert.Equal(t, uint64(30), past3(t, e, "").Total, "that is not remembered")
	d.turn(errFull)
	assert.Equal(t, uint64(30), past3(t, e, "").Total, "what was read before is")
	d.turn(nil)
}

// encoded is the value of a list.
func encoded(t testing.TB, l *list) []byte {
	value, err := encodeList(l)
	require.NoError(t, err)
	return value
}
