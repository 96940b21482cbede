package topkexporter

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/answers")

// TestAnswers holds whole answers of the world against testdata/answers, one file each.
func TestAnswers(t *testing.T) {
	e := world(t)
	e.handler.now = func() time.Time { return noon.Add(3 * time.Second) }
	for name, target := range map[string]string{
		"trending":              "/v1/trending?rule=tenants&k=3",
		"trending_hour":         "/v1/trending?rule=tenants&window=60m&k=2",
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
