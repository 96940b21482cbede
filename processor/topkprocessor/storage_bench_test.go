//go:build unix

package topkprocessor

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// BenchmarkStorage measures what a storage adds to requests of 1,000 records. A whole collector takes 1,000 ns a record to
// receive them.
func BenchmarkStorage(b *testing.B) {
	for _, rules := range []struct{ name, yaml string }{
		{"one rule", ruleList(fiveRules[0])},
		{"five rules", ruleList(fiveRules...)},
		{"grouped by record", ruleList(fiveRules[0]) + "    group_by: log.attributes[\"http.route\"]\n"},
	} {
		for _, storage := range []struct{ name, yaml string }{{"none", ""}, {"file", "storage: file_storage\n"}} {
			for _, senders := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/%s/%d", rules.name, storage.name, senders), func(b *testing.B) {
					m := newMachine(b, b.TempDir())
					gw := &fakeGateway{newestOnly: true}
					p, err := newFactory(gw.connect).CreateLogs(b.Context(), processortest.NewNopSettings(metadata.Type), mustParse(b, rules.yaml+storage.yaml), consumertest.NewNop())
					require.NoError(b, err)
					require.NoError(b, p.Start(b.Context(), m))
					defer stop(b, p)
					benchmarkConsume(b, p, zipfLogs(time.Now()), senders)
				})
			}
		}
	}
}
