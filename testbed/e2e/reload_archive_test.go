package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
)

// SIGHUP under load, each time with other columns and another shard: all that was answered is archived, and counts as one.
func TestColumnsThatChangeAtAReloadLoseNoRecord(t *testing.T) {
	t.Parallel() // most of the time is waiting
	a := startArchiving(t, "wall", tenantRule)
	start := time.Now().Add(-time.Hour)
	load := startTraffic(t, collector.NewPatientSender(t, a.answers.Ports.Address(t, "otlp")))
	for _, more := range []string{
		`columns: ['log.attributes["tenant"]']`,
		`columns: ['log.attributes["route"]', 'log.attributes["bytes"]'], shard: other`,
		`shard: other`,
	} {
		load.flow(t)
		a.answers.Configure(t, strings.Replace(archiveConfig("wall", a.folder), "\n  parquet:\n", "\n  parquet:\n    "+strings.ReplaceAll(more, ", shard", "\n    shard")+"\n", 1))
		a.answers.Reload(t)
	}
	load.flow(t)
	close(load.stop)
	load.done.Wait()
	a.answers.Stop(t)

	columns := map[int]bool{}
	require.NoError(t, archived.Read(t.Context(), a.store, rule.SignalLogs, func(_ archive.File, r *archive.Reader) error {
		columns[len(r.Meta().Columns)] = true
		return nil
	}))
	assert.Equal(t, map[int]bool{0: true, 1: true, 2: true}, columns)
	cfg := rule.NewDefaultConfig()
	cfg.Name, cfg.Key, cfg.Weight = "bytes", []string{`log.attributes["tenant"]`}, `log.attributes["bytes"]`
	r, err := rule.New(cfg, 0, "", componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	counts, err := recount.Count(t.Context(), a.store, recount.Question{Rule: r, From: start, To: time.Now().Add(time.Hour)}, recount.Options{Memory: recount.MinMemory})
	require.NoError(t, err)
	defer counts.Close()
	all := counts.Sums()[0]
	assert.GreaterOrEqual(t, all.Records, load.answered.Load())
	assert.LessOrEqual(t, all.Records, load.answered.Load()+load.unanswered.Load())
	assert.Equal(t, 100*all.Records, all.Weight)
	assert.EqualValues(t, 7, all.Distinct)
	t.Logf("%d answered, %d not, %d archived", load.answered.Load(), load.unanswered.Load(), all.Records)
}
