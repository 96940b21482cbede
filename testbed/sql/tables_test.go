package sql_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/table"
)

// writeTables writes the table of each hour of an archive as the exporter lays them out, of a rule that counts bytes of tenants by
// region. It returns the rule's fingerprint.
func writeTables(t *testing.T, folder string) (fingerprint string) {
	t.Helper()
	store, made := open(t, folder), compiled(t, "The whole table")
	fingerprint = made.Definition().Fingerprint()
	for _, start := range []time.Time{before, day} {
		for _, hour := range hours {
			from := start.Add(time.Duration(hour) * time.Hour)
			counts := recounted(t, store, made, from, from.Add(time.Hour))
			first := archive.HourOf(from.UnixNano())
			meta := table.Meta{Rule: "tenants", Fingerprint: fingerprint, From: first, To: first + 1, Files: counts.Files}
			path := "tables/hours/rule=tenants/fingerprint=" + fingerprint + from.Format("/year=2006/month=01/day=02/hour=15/") + "table.parquet"
			_, err := store.Put(t.Context(), path, func(w io.Writer) error { return table.Write(w, meta, counts.Rows()) })
			require.NoError(t, err)
		}
	}
	return fingerprint
}
