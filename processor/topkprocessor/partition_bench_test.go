package topkprocessor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

// BenchmarkPartition passes requests of 1,000 records of four attributes as BenchmarkBudget does, without and with a stamp. What
// allocates with it is the attribute.
func BenchmarkPartition(b *testing.B) {
	for _, tt := range []struct{ name, yaml string }{
		{"none", ""},
		{"keys", "partition: {rule: r0, salts: 1}"},
		{"keys and salts", "partition: {rule: r0}"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			p := startLogs(b, mustParse(b, ruleList(fiveRules[0])+tt.yaml), &fakeGateway{newestOnly: true}, nil)
			defer stop(b, p)
			all := zipfLogs(time.Now())
			b.ReportAllocs()
			var spent time.Duration
			n := 0
			for b.Loop() {
				began := time.Now()
				require.NoError(b, p.ConsumeLogs(context.Background(), all[n%batches]))
				spent += time.Since(began)
				b.StopTimer()
				unstamp(all[n%batches])
				b.StartTimer()
				n++
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(n*recordsPerBatch), "ns/record")
		})
	}
}

// unstamp the records, stamped or not: they are made anew, with no room left for another attribute.
func unstamp(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, lr := range rl.ScopeLogs().At(0).LogRecords().All() {
			lr.Attributes().Remove("topk.partition")
			whole := plog.NewLogRecord()
			lr.CopyTo(whole)
			whole.MoveTo(lr)
		}
	}
}
