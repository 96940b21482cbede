package topkexporter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension/extensiontest"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// filed is an exporter that keeps its lists and history in a file, as users do.
func filed(t testing.TB) *topkExporter {
	host, end := fileStorage(t, t.TempDir())
	e := openedAt(t, host)
	t.Cleanup(func() {
		require.NoError(t, e.shutdown(context.WithoutCancel(t.Context())))
		end()
	})
	return e
}

// fileStorage is a host with file_storage in a folder, and what ends it.
func fileStorage(t testing.TB, folder string) (host *diskHost, end func()) {
	f := filestorage.NewFactory()
	config := f.CreateDefaultConfig().(*filestorage.Config)
	config.Directory = folder
	e, err := f.Create(t.Context(), extensiontest.NewNopSettings(f.Type()), config)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	return hostOf(e), func() { require.NoError(t, e.Shutdown(context.WithoutCancel(t.Context()))) }
}

// usual is a rule with the defaults of k, residents and shape.
func usual(t testing.TB) *rule.Definition {
	shape, err := topk.NewShape(0.001, 0.01, seed)
	if err != nil {
		t.Fatal(err)
	}
	return tenants(t, grouped, func(d *rule.Definition) { d.K, d.Residents, d.Shape = 100, 640, shape })
}

// zipfHour counts an hour of 200,000 records of Zipf 1.01 over a million keys, as a gateway rolls it up.
func zipfHour(t testing.TB, d *rule.Definition, source *rand.Rand) *topk.Summary {
	s := empty(t, d)
	z := rand.NewZipf(source, 1.01, 1, 1_000_000)
	for range 200_000 {
		if err := s.Add(fmt.Sprintf("tenant-%07d", z.Uint64()), 1); err != nil {
			t.Fatal(err)
		}
	}
	s.Prune(d.Residents)
	s.Flatten()
	return s
}

// BenchmarkBurst is a publication of 1,500 lists at once, from its arrival to when it is served: stored by file_storage, or not.
func BenchmarkBurst(b *testing.B) {
	d := usual(b)
	s := zipfHour(b, d, rand.New(rand.NewPCG(1, 2)))
	lists := []published{summed(d, 5*time.Minute, rule.Group{}, s)}
	for i := range 1499 {
		p := summed(d, 5*time.Minute, group(fmt.Sprint("group", i)), s)
		p.pointless = true
		lists = append(lists, p)
	}
	for name, e := range map[string]*topkExporter{"stored": filed(b), "memory": shelf(b)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				for i := range lists {
					lists[i].AsOf = noon.Add(time.Duration(n) * time.Second)
				}
				ld := logs(b, lists...)
				b.StartTimer()
				if err := e.consumeLogs(b.Context(), ld); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPast merges a day, and 90 days, of one group of Zipf keys, out of file_storage: not from the cache.
func BenchmarkPast(b *testing.B) {
	d := usual(b)
	e := filed(b)
	e.handler.now = func() time.Time { return noon.Add(100 * 24 * time.Hour) }
	source := rand.New(rand.NewPCG(1, 2))
	var different []*topk.Summary
	for range 24 {
		different = append(different, zipfHour(b, d, source))
	}
	for hour := range 90 * 24 {
		s := different[hour%len(different)]
		e.store.takeRollups(b, noon.Add(time.Duration(hour)*time.Hour), rollup(d, hourAt(hour), rule.Group{}, s), rollup(d, hourAt(hour), group("eu"), s))
	}
	size := e.store.history.size()
	b.Logf("%d roll-ups take %d bytes each", size.rollups, size.bytes/size.rollups)
	for name, hours := range map[string]int{"hour": 1, "day": 24, "90days": 90 * 24} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/v1/trending?group=eu&k=100&from="+at(hourAt(0))+"&to="+at(hourAt(hours)), nil)
			b.ReportAllocs()
			for b.Loop() {
				e.store.history.cache.spans, e.store.history.cache.bytes = nil, 0
				if w := do(e, r); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
	b.Run("90days-cached", func(b *testing.B) {
		r := httptest.NewRequest(http.MethodGet, "/v1/trending?group=eu&k=100&from="+at(hourAt(0))+"&to="+at(hourAt(90*24)), nil)
		for b.Loop() {
			do(e, r)
		}
	})
}
