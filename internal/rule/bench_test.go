package rule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const benchRecords = 1000

// benchLogs is a batch of records with four attributes, keys drawn from Zipf 1.2.
func benchLogs() plog.Logs {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, 100_000)
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("cloud.region", "eu-west-1")
	rl.Resource().Attributes().PutStr("service.name", "checkout")
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for i := range benchRecords {
		r := records.AppendEmpty()
		r.SetTimestamp(1_700_000_000_000_000_000)
		r.SetSeverityNumber(plog.SeverityNumberInfo)
		r.Body().SetStr("GET /cart 200")
		r.Attributes().PutStr("tenant.id", fmt.Sprintf("tenant-%06d", zipf.Uint64()))
		r.Attributes().PutStr("http.route", fmt.Sprintf("/api/v1/items/%d", zipf.Uint64()))
		r.Attributes().PutInt("http.status_code", 200+int64(i%7))
		r.Attributes().PutStr("client.address", fmt.Sprintf("10.%d.%d.%d", i%5, i%256, zipf.Uint64()%256))
	}
	return ld
}

func benchRules(b *testing.B, walk func(*Rule, *Batch), rules ...func(*Config)) {
	b.Helper()
	var compiledRules []*Rule
	for _, change := range rules {
		compiledRules = append(compiledRules, compiled(b, change))
	}
	batch := new(Batch)
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range compiledRules {
			batch.Reset()
			walk(r, batch)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchRecords), "ns/record")
}

func BenchmarkLogs(b *testing.B) {
	ld := benchLogs()
	walk := func(r *Rule, batch *Batch) { r.Logs(ld, 1, batch) }
	key := func(paths ...string) func(*Config) { return func(c *Config) { c.Key = paths } }
	with := func(change func(*Config)) func(*Config) {
		return func(c *Config) { c.Key = []string{`log.attributes["tenant.id"]`}; change(c) }
	}
	cases := []struct {
		name  string
		rules []func(*Config)
	}{
		{"first attribute of four", []func(*Config){key(`log.attributes["tenant.id"]`)}},
		{"last attribute of four", []func(*Config){key(`log.attributes["client.address"]`)}},
		{"five rules", []func(*Config){
			key(`log.attributes["tenant.id"]`), key(`log.attributes["http.route"]`), key(`log.attributes["http.status_code"]`),
			key(`log.attributes["client.address"]`), key(`log.body`),
		}},
		{"integer", []func(*Config){key(`log.attributes["http.status_code"]`)}},
		{"resource attribute", []func(*Config){func(c *Config) {
			c.Key, c.Signals = []string{`resource.attributes["service.name"]`}, []string{SignalLogs}
		}}},
		{"two parts", []func(*Config){key(`resource.attributes["service.name"]`, `log.attributes["http.route"]`)}},
		{"grouped by resource", []func(*Config){with(func(c *Config) { c.GroupBy = `resource.attributes["cloud.region"]` })}},
		{"weight from attribute", []func(*Config){with(func(c *Config) { c.Weight = `log.attributes["http.status_code"]` })}},
		{"weight bytes", []func(*Config){with(func(c *Config) { c.Weight = WeightBytes })}},
		{"cut key", []func(*Config){func(c *Config) {
			c.Key, c.MaxKeyBytes = []string{`resource.attributes["service.name"]`, `log.attributes["http.route"]`}, 112
		}}},
		{"condition", []func(*Config){with(func(c *Config) { c.Conditions = []string{"log.severity_number >= 9"} })}},
		{"expression", []func(*Config){key(`Concat([log.attributes["tenant.id"], "x"], "-")`)}},
	}
	for _, bench := range cases {
		b.Run(bench.name, func(b *testing.B) { benchRules(b, walk, bench.rules...) })
	}
}

func BenchmarkTraces(b *testing.B) {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i := range benchRecords {
		s := spans.AppendEmpty()
		s.SetName(fmt.Sprintf("GET /%d", i))
		s.SetEndTimestamp(1)
	}
	benchRules(b, func(r *Rule, batch *Batch) { r.Traces(td, 1, batch) }, func(c *Config) { c.Key = []string{"span.name"} })
}

func BenchmarkMetrics(b *testing.B) {
	md := pmetric.NewMetrics()
	points := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptySum().DataPoints()
	for i := range benchRecords {
		p := points.AppendEmpty()
		p.Attributes().PutStr("route", fmt.Sprintf("/%d", i))
		p.SetIntValue(int64(i))
	}
	benchRules(b, func(r *Rule, batch *Batch) { r.Metrics(md, 1, batch) }, func(c *Config) {
		c.Key, c.Weight = []string{`datapoint.attributes["route"]`}, "datapoint.value_int"
	})
}
