package parquetexporter

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func glob(t testing.TB, pattern string) []string {
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	return paths
}

// contents of the files of signal in the archive of p, by path.
func (p place) contents(t testing.TB, signal string) map[string][]byte {
	all := map[string][]byte{}
	for _, f := range p.files(t, signal) {
		content, err := os.ReadFile(filepath.Join(p.archive, f.Path()))
		require.NoError(t, err)
		all[f.Path()] = content
	}
	return all
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// gauge is the sum of what a metric says now, over its attributes.
func (m *machine) gauge(t testing.TB, name string) float64 {
	metric, err := m.meters.GetMetric("otelcol_exporter_parquet_" + name)
	if err != nil {
		return 0 // nothing was counted
	}
	sum := 0.0
	switch data := metric.Data.(type) {
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			sum += float64(p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			sum += p.Value
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			sum += float64(p.Value)
		}
	default:
		require.Fail(t, "no such metric", name)
	}
	return sum
}
