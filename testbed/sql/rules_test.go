package sql_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// rules of the page, and what a record counts by them, told without any code of the project.
var rules = []struct {
	heading string
	change  func(*rule.Config)
	of      func(*record) (key []string, weight int64)
}{
	{
		"The list of a day",
		func(c *rule.Config) { c.Key = []string{tenantPath} },
		func(r *record) ([]string, int64) { return one(r.tenant), 1 },
	},
	{
		"The whole table",
		func(c *rule.Config) { c.Key, c.Weight, c.GroupBy = []string{tenantPath}, rule.WeightBytes, regionPath },
		func(r *record) ([]string, int64) { return one(r.tenant), int64(r.bytes) },
	},
	{
		"Conditions",
		func(c *rule.Config) { c.Key, c.Conditions = []string{routePath}, []string{"log.severity_number >= 17"} },
		func(r *record) ([]string, int64) {
			if !r.failed {
				return nil, 0
			}
			return one(r.route), 1
		},
	},
	{
		"A number as weight",
		func(c *rule.Config) {
			c.Key, c.Weight = []string{tenantPath}, `log.attributes["http.response.body.size"]`
		},
		func(r *record) ([]string, int64) {
			if r.size.one < 0 {
				return nil, 0
			}
			return one(r.tenant), r.size.one
		},
	},
	{
		"A number of the map as weight",
		func(c *rule.Config) {
			c.Key, c.Weight, c.WeightScale = []string{routePath}, `log.attributes["duration"]`, 1000
		},
		func(r *record) ([]string, int64) {
			if r.duration.thousands < 0 {
				return nil, 0
			}
			return one(r.route), r.duration.thousands
		},
	},
	{
		"Keys of several parts",
		func(c *rule.Config) { c.Key = []string{tenantPath, routePath} },
		func(r *record) ([]string, int64) {
			if !r.tenant.known() || !r.route.known() {
				return nil, 0
			}
			return []string{r.tenant.text, r.route.text}, 1
		},
	},
	{
		"A default",
		func(c *rule.Config) { unknown := "unknown"; c.Key, c.Default = []string{routePath}, &unknown },
		func(r *record) ([]string, int64) {
			if !r.route.known() {
				return []string{"unknown"}, 1
			}
			return one(r.route), 1
		},
	},
}

const (
	tenantPath = `log.attributes["tenant.id"]`
	routePath  = `log.attributes["http.route"]`
	regionPath = `resource.attributes["cloud.region"]`
)

// one is the key of a value: nil where it is missing.
func one(v value) []string {
	if !v.known() {
		return nil
	}
	return []string{v.text}
}

// compiled rule of a heading. Its keys are as long as any in the records.
func compiled(t *testing.T, heading string) *rule.Rule {
	t.Helper()
	for _, r := range rules {
		if r.heading == heading {
			c := rule.NewDefaultConfig()
			c.Name, c.MaxKeyBytes = "tenants", 1024
			r.change(&c)
			made, err := rule.New(c, 0, "", componenttest.NewNopTelemetrySettings())
			require.NoError(t, err)
			return made
		}
	}
	t.Fatalf("no rule for %q", heading)
	return nil
}

func recounted(t *testing.T, store *archive.Store, r *rule.Rule, from, to time.Time) *recount.Counts {
	t.Helper()
	counts, err := recount.Count(t.Context(), store, recount.Question{Rule: r, From: from, To: to},
		recount.Options{Memory: recount.MinMemory, Directory: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, counts.Close()) })
	return counts
}

func open(t *testing.T, folder string) *archive.Store {
	t.Helper()
	store, err := archive.OpenStore(t.Context(), "file://"+folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestRecountsCountWhatSQLMustSay(t *testing.T) {
	folder := t.TempDir()
	logs := writeLogs(t, folder, 2*perDay)
	store := open(t, folder)
	for _, r := range rules {
		made := compiled(t, r.heading)
		for _, times := range [][2]time.Time{{day, day.AddDate(0, 0, 1)}, {before, day.AddDate(0, 0, 1)}, {day.Add(8*time.Hour + 30*time.Minute), day.Add(13*time.Hour + 15*time.Minute)}} {
			var want, got []table.Row
			for _, c := range tally(within(logs, times[0], times[1]), r.of) {
				want = append(want, table.Row{Key: made.Definition().KeyOf(c.key...), Weight: uint64(c.weight), Records: uint64(c.records)})
			}
			slices.SortFunc(want, func(a, b table.Row) int { return cmp.Compare(a.Key, b.Key) })
			for row, err := range recounted(t, store, made, times[0], times[1]).Rows() {
				require.NoError(t, err)
				if row.Group.Scope == rule.ScopeGlobal {
					got = append(got, row)
				}
			}
			assert.Equal(t, want, got, "%s, %v", r.heading, times)
		}
	}
}
