package topkexporter

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otel-topk/collector/internal/rule"
)

// nothing is a client that reads nothing.
type nothing struct{ header http.Header }

func (n nothing) Header() http.Header       { return n.header }
func (nothing) Write(b []byte) (int, error) { return len(b), nil }
func (nothing) WriteHeader(int)             {}

func BenchmarkHandler(b *testing.B) {
	e := world(b)
	etag := get(e, "/v1/trending?rule=tenants&window=5m&k=10").Header().Get("ETag")
	for _, bb := range []struct{ name, target, have string }{
		{"list", "/v1/trending?rule=tenants&window=5m&k=10", ""},
		{"unchanged", "/v1/trending?rule=tenants&window=5m&k=10", etag},
		{"listed", "/v1/keys/tenant-001/count?rule=tenants", ""},
		{"unlisted", "/v1/keys/tenant-999999/count?rule=tenants", ""},
		{"error", "/v1/trending?rule=x", ""},
		{"metrics", "/metrics", ""},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				r := httptest.NewRequest(http.MethodGet, bb.target, nil)
				r.Header.Set("If-None-Match", bb.have)
				for pb.Next() {
					e.handler.ServeHTTP(nothing{http.Header{}}, r)
				}
			})
		})
	}
}

// BenchmarkServer is the whole path: the collector's HTTP server over loopback, with a client in the same process.
func BenchmarkServer(b *testing.B) {
	e, address := started(b, componenttest.NewNopHost())
	d := tenants(b, func(d *rule.Definition) { d.K, d.Residents = 100, 640 })
	if err := e.ConsumeLogs(b.Context(), logs(b, summed(d, 5*time.Minute, rule.Group{}, zipf(b, d, 50_000)))); err != nil {
		b.Fatal(err)
	}
	for name, target := range map[string]string{"k=10": "/v1/trending?k=10", "k=100": "/v1/trending?k=100"} {
		b.Run(name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			defer client.CloseIdleConnections()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					response, err := client.Get("http://" + address + target)
					if err != nil {
						b.Error(err)
						return
					}
					buffer := make([]byte, 64<<10)
					for err == nil {
						_, err = response.Body.Read(buffer)
					}
					response.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
		})
	}
}

// BenchmarkTake is a publication of all lists of 100 groups in three windows.
func BenchmarkTake(b *testing.B) {
	d := tenants(b, grouped, func(d *rule.Definition) { d.K, d.Residents = 100, 640 })
	s := zipf(b, d, 50_000)
	var lists []published
	for _, window := range []time.Duration{5 * time.Minute, time.Hour, 24 * time.Hour} {
		lists = append(lists, summed(d, window, rule.Group{}, s))
		for i := range 100 {
			p := summed(d, window, rule.Group{Scope: rule.ScopeGroup, Name: string(rune('0' + i))}, s)
			p.pointless = true
			lists = append(lists, p)
		}
	}
	e := shelf(b)
	ld := logs(b, lists...)
	b.ReportAllocs()
	for b.Loop() {
		if err := e.consumeLogs(b.Context(), ld); err != nil {
			b.Fatal(err)
		}
	}
}
