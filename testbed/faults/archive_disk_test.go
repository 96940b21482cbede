package faults

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// everyPlace is where no file may grow.
const everyPlace = "everything"

// fullPlaces are what of an archiver lies on a disk that is full.
var fullPlaces = []struct {
	name  string
	place func(*folders) *string
	way   filling
	while func(t *testing.T, m *member, h *hoard) // what holds then
}{
	{"segments", func(f *folders) *string { return &f.segments }, fillings[0], refuses},
	{"archive", func(f *folders) *string { return &f.archive }, fillings[0], fallsBehind},
	{"spills", func(f *folders) *string { return &f.spills }, fillings[0], failsToCount},
	{everyPlace, func(f *folders) *string { return &f.stored }, fillings[1], func(t *testing.T, m *member, h *hoard) {
		refuses(t, m, h)
		failsToCount(t, m, h)
	}},
}

// refuses: what cannot be kept is not answered.
func refuses(t *testing.T, m *member, _ *hoard) {
	t.Helper()
	m.awaitMetric(t, `otelcol_exporter_parquet_refused_requests`, `reason="disk"`)
	m.awaitHealth(t, http.StatusInternalServerError)
}

// fallsBehind: what cannot be archived now waits.
func fallsBehind(t *testing.T, m *member, _ *hoard) {
	t.Helper()
	m.awaitMetric(t, `otelcol_exporter_parquet_conversions`, `outcome="failed"`)
	m.awaitHealth(t, http.StatusInternalServerError)
}

// failsToCount: a count that does not fit into its memory ends, and says why.
func failsToCount(t *testing.T, m *member, h *hoard) {
	t.Helper()
	job := m.Recount(t, h.asked())
	assert.Equal(t, "failed", job.Status)
	assert.NotEmpty(t, job.Error)
}

func TestAFullDiskLosesNothingThatAnArchiverHasAnswered(t *testing.T) {
	t.Parallel()
	for _, p := range fullPlaces {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			first := chosenSeed()
			t.Logf("seed %d, %s", first, p.way.name)
			var given folders
			full := p.way.folder(t)
			if full == "" && p.name != everyPlace {
				return // nothing can be mounted
			}
			*p.place(&given) = full
			f := newFolders(t, given)
			h := newHoard(t, f.url(), first)
			m := startArchiver(t, f, f.url())
			fleet := &fleet{settings: settings{folder: full}, gateway: m}
			b, r := newBook(), startReader(t, f.url())
			write(t, m, first, b, time.Second)
			require.NoError(t, r.holds(b))
			require.Equal(t, http.StatusOK, m.health(t))

			p.way.fill(t, fleet)
			end := writing(scribes(t, m, first+10, b))
			p.while(t, m, h)
			p.way.free(t, fleet)
			m.awaitHealth(t, http.StatusOK) // of requests that are taken again, so some must come
			end()
			require.NoError(t, r.holds(b))
			require.NoError(t, m.Recount(t, h.asked()).Exactly(h.exact, 50))
			require.Empty(t, filesBelow(t, f.spills))
			require.Empty(t, temporary(t, f.archive))
		})
	}
}

// write for a while, with three scribes.
func write(t *testing.T, m *member, seed uint64, b *book, long time.Duration) {
	t.Helper()
	end := writing(scribes(t, m, seed, b))
	<-time.After(long)
	end()
}

// awaitMetric waits until a metric of this name and label is above zero.
func (m *member) awaitMetric(t *testing.T, name, label string) {
	t.Helper()
	collector.Await(t, func() bool { return m.metric(t, name, label) > 0 },
		func() string { return "no " + name + " with " + label + ":\n" + m.Output() })
}
