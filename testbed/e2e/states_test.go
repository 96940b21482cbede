package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

// recordStates runs a shard that counts these many rounds of records and returns the requests that it sent to its
// gateway, and what it counted.
func recordStates(t *testing.T, rounds int) (requests []plog.Logs, exact *oracle.Counts) {
	t.Helper()
	ports := collector.NewPorts()
	sink := collector.NewSink(t, ports.Address(t, "states"))
	rules := "      - name: tenants\n        key: log.attributes[\"tenant\"]\n"
	config := otlpReceiver + fmt.Sprintf(topkProcessor, "event", rules) + nopExporter + fmt.Sprintf(countingPipeline, "logs")
	c := collector.Start(t, config, ports)
	sender := collector.NewSender(t, ports.Address(t, "otlp"))
	exact = oracle.NewCounts()
	for round := range rounds {
		ld := plog.NewLogs()
		records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range 100 {
			lr := records.AppendEmpty()
			lr.SetTimestamp(pcommon.NewTimestampFromTime(noon.Add(time.Duration(round) * time.Second)))
			tenant := fmt.Sprintf("secret-%d", i*i%(round+2))
			lr.Attributes().PutStr("tenant", tenant)
			exact.Add(tenant, 1)
		}
		before := len(sink.Requests(collector.LogsMethod))
		err := sender.Logs(t.Context(), ld)
		require.NoError(t, err)
		collector.Await(t, func() bool { return len(sink.Requests(collector.LogsMethod)) > before },
			func() string { return "no state sent" })
	}
	c.Stop(t)
	for _, encoded := range sink.Requests(collector.LogsMethod) {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(encoded)
		require.NoError(t, err)
		requests = append(requests, ld)
	}
	return requests, exact
}

// clone of a request, since sending one may use it up.
func clone(ld plog.Logs) plog.Logs {
	out := plog.NewLogs()
	ld.CopyTo(out)
	return out
}

// M6: summaries repeated, reordered, lost in between.
func TestStatesRepeatedReorderedOrLostCountAsTheLastOne(t *testing.T) {
	requests, exact := recordStates(t, 5)
	last := requests[len(requests)-1]
	for _, request := range requests { // a goodbye may follow the last states
		if request.LogRecordCount() > 1 {
			last = request
		}
	}
	backwards := slices.Clone(requests)
	slices.Reverse(backwards)
	for name, order := range map[string][]plog.Logs{
		"as sent":          requests,
		"repeated":         append(slices.Clone(requests), requests...),
		"backwards":        backwards,
		"the last alone":   {last},
		"the first at end": {last, requests[0], requests[1]},
	} {
		t.Run(name, func(t *testing.T) {
			d := startGateway(t, "event")
			to := collector.NewSender(t, d.answers.Ports.Address(t, "states"))
			for _, request := range order {
				err := to.Logs(t.Context(), clone(request))
				require.NoError(t, err)
			}
			list := d.answers.AwaitTotal(t, exact.Total, "rule", "tenants", "window", "5m")
			require.NoError(t, list.Law(exact, 10))
			require.NoError(t, list.Same(exact, 10))
			assert.True(t, list.Certified)
		})
	}
}

// spoiled are records that are no states, each made of a good one.
var spoiled = map[string]func(plog.LogRecord){
	"a foreign log": func(lr plog.LogRecord) {
		plog.NewLogRecord().CopyTo(lr)
		lr.Body().SetStr("secret-0 did this")
		lr.Attributes().PutStr("tenant", "secret-0")
	},
	"a state cut off":      func(lr plog.LogRecord) { cut(lr, lr.Body().Bytes().Len()-7) },
	"an empty state":       func(lr plog.LogRecord) { cut(lr, 0) },
	"a byte of a state":    func(lr plog.LogRecord) { cut(lr, 1) },
	"a state of a giant":   func(lr plog.LogRecord) { lr.Body().Bytes().Append(0x52, 0xff, 0xff, 0xff, 0xff, 0x7f) },
	"a state without body": func(lr plog.LogRecord) { plog.NewLogRecord().Body().CopyTo(lr.Body()) },
}

// cut the body to n bytes.
func cut(lr plog.LogRecord, n int) {
	lr.Body().Bytes().FromRaw(lr.Body().Bytes().AsRaw()[:n])
}

// M5: what is corrupt, cut off, or claims a huge size.
func TestWhatIsNoStateIsRefusedAloneAndWithoutItsData(t *testing.T) {
	requests, exact := recordStates(t, 3)
	d := startGateway(t, "event")
	to := collector.NewSender(t, d.answers.Ports.Address(t, "states"))
	for name, spoil := range spoiled {
		request := clone(requests[0]) // the report, and the state of the first round
		resource := request.ResourceLogs().At(request.ResourceLogs().Len() - 1)
		records := resource.ScopeLogs().At(resource.ScopeLogs().Len() - 1).LogRecords()
		state := plog.NewLogRecord()
		records.At(records.Len() - 1).CopyTo(state)
		spoil(state)
		state.CopyTo(records.AppendEmpty())
		err := to.Logs(t.Context(), request)
		require.Error(t, err, name)
		assert.ErrorContains(t, err, "InvalidArgument", name)
		assert.NotContains(t, err.Error(), "secret", name)
		t.Log(name, err)
	}
	d.answers.AwaitTotal(t, 100, "rule", "tenants", "window", "5m")

	for _, request := range requests {
		err := to.Logs(t.Context(), request)
		require.NoError(t, err)
	}
	list := d.answers.AwaitTotal(t, exact.Total, "rule", "tenants", "window", "5m")
	require.NoError(t, list.Same(exact, 10))
	assert.Contains(t, telemetry(t, d.answers, "otelcol_receiver_trend_"), "refused")
	assert.NotContains(t, d.answers.Output(), "secret", "log lines hold no record's data")
}
