//go:build unix

package topkprocessor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

const (
	recordsPerBatch = 1000
	batches         = 64
)

// Five rules on different attributes, for records of four attributes.
var fiveRules = []string{
	`log.attributes["tenant.id"]`,
	`log.attributes["client.address"]`,
	`log.attributes["http.route"]`,
	`log.attributes["user.id"]`,
	`resource.attributes["service.name"]`,
}

func ruleList(keys ...string) string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i, key := range keys {
		fmt.Fprintf(&b, "  - name: r%d\n    key: ['%s']\n    signals: [logs]\n", i, key)
	}
	return b.String()
}

// zipfLogs is batches of Zipf 1.01 keys, 100 records a resource.
func zipfLogs(now time.Time) []plog.Logs {
	r := rand.New(rand.NewPCG(1, 2))
	tenants, clients := rand.NewZipf(r, 1.01, 1, 1_000_000), rand.NewZipf(r, 1.01, 1, 10_000_000)
	routes, users := rand.NewZipf(r, 1.2, 1, 1000), rand.NewZipf(r, 1.01, 1, 1_000_000)
	all := make([]plog.Logs, batches)
	for i := range all {
		ld := plog.NewLogs()
		for range recordsPerBatch / 100 {
			rl := ld.ResourceLogs().AppendEmpty()
			rl.Resource().Attributes().PutStr("service.name", fmt.Sprintf("service-%d", r.IntN(20)))
			records := rl.ScopeLogs().AppendEmpty().LogRecords()
			for range 100 {
				lr := records.AppendEmpty()
				lr.SetTimestamp(pcommon.NewTimestampFromTime(now))
				lr.Attributes().PutStr("tenant.id", fmt.Sprintf("tenant-%06d", tenants.Uint64()))
				lr.Attributes().PutStr("client.address", fmt.Sprintf("10.%d.%d.%d", clients.Uint64()>>16&255, clients.Uint64()>>8&255, clients.Uint64()&255))
				lr.Attributes().PutStr("http.route", fmt.Sprintf("/api/v1/things/%d/parts", routes.Uint64()))
				lr.Attributes().PutStr("user.id", fmt.Sprintf("u%08d", users.Uint64()))
			}
		}
		all[i] = ld
	}
	return all
}

// BenchmarkBudget fails where a record costs more CPU than allowed, all that belongs to it included: extraction, counting,
// merging, encoding, collection of garbage.
func BenchmarkBudget(b *testing.B) {
	for _, tt := range []struct {
		name   string
		yaml   string
		budget float64 // ns a record
	}{
		{"one rule", ruleList(fiveRules[0]), 80},
		{"five rules", ruleList(fiveRules...), 320},
	} {
		b.Run(tt.name, func(b *testing.B) {
			p := startLogs(b, mustParse(b, tt.yaml), &fakeGateway{newestOnly: true}, nil)
			defer stop(b, p)
			all := zipfLogs(time.Now())
			run := func(n int) {
				for i := range n {
					require.NoError(b, p.ConsumeLogs(context.Background(), all[i%batches]))
				}
			}
			run(batches)

			const rounds = 9
			perRecord := make([]float64, rounds)
			for i := range perRecord {
				before := cpuTime(b)
				run(1000)
				perRecord[i] = float64(cpuTime(b)-before) / (1000 * recordsPerBatch)
			}
			slices.Sort(perRecord)
			median := perRecord[rounds/2]
			allocs := testing.AllocsPerRun(100, func() { run(1) })
			for b.Loop() {
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median, "cpu-ns/record")
			b.ReportMetric(allocs/recordsPerBatch, "allocs/record")
			if median > tt.budget {
				b.Errorf("%.0f ns a record, allowed are %.0f", median, tt.budget)
			}
			if allocs >= recordsPerBatch/100 {
				b.Errorf("%.0f allocations a batch", allocs)
			}
		})
	}
}

func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkConsumeLogs in one and in several goroutines.
func BenchmarkConsumeLogs(b *testing.B) {
	for _, goroutines := range []int{1, 2, 8} {
		for _, tt := range []struct{ name, yaml string }{
			{"one rule", ruleList(fiveRules[0])},
			{"five rules", ruleList(fiveRules...)},
			{"grouped", ruleList(fiveRules[0]) + "    group_by: resource.attributes[\"service.name\"]\n"},
			{"grouped by record", ruleList(fiveRules[0]) + "    group_by: log.attributes[\"http.route\"]\n"},
		} {
			b.Run(fmt.Sprintf("%s/%d", tt.name, goroutines), func(b *testing.B) {
				p := startLogs(b, mustParse(b, tt.yaml), &fakeGateway{newestOnly: true}, nil)
				defer stop(b, p)
				all := zipfLogs(time.Now())
				benchmarkConsume(b, p, all, goroutines)
			})
		}
	}
}

func benchmarkConsume(b *testing.B, p consumer.Logs, all []plog.Logs, goroutines int) {
	b.ReportAllocs()
	before := cpuTime(b)
	b.ResetTimer()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := g; i < b.N; i += goroutines {
				_ = p.ConsumeLogs(context.Background(), all[i%batches])
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	records := float64(b.N) * recordsPerBatch
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/records, "ns/record")
	b.ReportMetric(float64(cpuTime(b)-before)/records, "cpu-ns/record")
}
