package topkexporter

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/answers")

// TestAnswers holds whole answers of the world against testdata/answers, one file each.
func TestAnswers(t *testing.T) {
	e := world(t)
	for name, target := range map[string]string{
		"trending":              "/v1/trending?rule=tenants&k=3",
		"trending_hour":         "/v1/trending?rule=tenants&window=60m&k=2",
		"trending_table":        "/v1/trending?rule=tenants&k=2&format=table",
		"trending_group":        "/v1/trending?rule=tenants&region=eu",
		"trending_empty_group":  "/v1/trending?rule=tenants&group=",
		"trending_missing":      "/v1/trending?rule=tenants&scope=missing",
		"trending_unpublished":  "/v1/trending?rule=tenants&scope=overflow",
		"trending_composite":    "/v1/trending?rule=routes",
		"count_listed":          "/v1/keys/tenant-001/count?rule=tenants",
		"count_unlisted":        "/v1/keys/tenant-999999/count?rule=tenants",
		"count_without_summary": "/v1/count?rule=tenants&group=eu&key=nobody",
		"count_composite":       "/v1/count?rule=routes&key=%5B%22GET%22%2C+%22/cart%22%5D",
		"count_unpublished":     "/v1/count?rule=tenants&scope=overflow&key=a",
		"past_hour":             "/v1/trending?rule=tenants&at=2026-01-02T09:30:00Z&k=2",
		"past_day":              "/v1/trending?rule=tenants&at=2026-01-02T09:30:00Z&window=24h&k=2",
		"past_span":             "/v1/trending?rule=tenants&from=2026-01-02T09:00:00Z&to=2026-01-02T12:00:00Z&k=2",
		"past_group":            "/v1/trending?rule=tenants&at=2026-01-02T11:00:00Z&group=eu",
		"past_group_overflowed": "/v1/trending?rule=tenants&at=2026-01-02T11:00:00Z&group=us",
		"past_unkept":           "/v1/trending?rule=tenants&at=2025-12-24T18:00:00Z&k=2",
		"past_count":            "/v1/keys/tenant-001/count?rule=tenants&at=2026-01-02T09:30:00Z",
		"past_count_group":      "/v1/count?rule=tenants&key=tenant-002&group=us&from=2026-01-02T09:00:00Z&to=2026-01-02T12:00:00Z",
		"rules":                 "/v1/rules",
		"status":                "/v1/status",
		"healthz":               "/healthz",
	} {
		t.Run(name, func(t *testing.T) {
			w := get(e, target)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, w.Body.Bytes(), "", "  "))
			file := filepath.Join("testdata", "answers", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.String())
		})
	}
}
