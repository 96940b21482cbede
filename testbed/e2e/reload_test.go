package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
)

// startStoring is a collector that does both and stores what it can.
func startStoring(t *testing.T, clock, rules string) *deployment {
	t.Helper()
	ports := collector.NewPorts()
	c := collector.Start(t, singleConfig(clock, "logs", rules), ports, storing(t, processorStores, receiverStores, exporterStores)...)
	awaitGateway(t, c)
	return &deployment{c, []*collector.Collector{c}, []*collector.Sender{collector.NewPatientSender(t, ports.Address(t, "otlp"))}}
}

// T5 and L1: SIGHUP in the middle of a window, under load. The end of the test sends SIGTERM and wants exit code 0.
func TestAReloadKeepsTheCounts(t *testing.T) {
	t.Parallel() // most of the time is waiting
	d := startStoring(t, "wall", tenantRule)
	endWatch := watchTotal(t, d.answers.Ports.Address(t, "api"), "window=24h")
	load := startTraffic(t, d.into[0])
	for range 3 {
		load.flow(t)
		d.answers.Reload(t)
		awaitGateway(t, d.answers) // telemetry lives
	}
	load.flow(t)
	load.end(t, d.into[0], d.answers, "window", "24h")
	endWatch()
}

// T5 for a stop and a start.
func TestARestartKeepsTheCounts(t *testing.T) {
	t.Parallel() // most of the time is waiting
	d := startStoring(t, "wall", tenantRule)
	endWatch := watchTotal(t, d.answers.Ports.Address(t, "api"), "window=24h")
	load := startTraffic(t, d.into[0])
	for range 2 {
		load.flow(t)
		d.answers.Stop(t)
		d.answers = d.answers.Again(t)
		d.answers.AwaitReady(t)
	}
	load.flow(t)
	load.end(t, d.into[0], d.answers, "window", "24h")
	endWatch()
}

const (
	rulesBefore = `
      - {name: same, key: 'log.attributes["tenant"]'}
      - {name: other k, key: 'log.attributes["tenant"]', k: 50}
      - {name: other key, key: 'log.attributes["tenant"]'}
      - {name: other weight, key: 'log.attributes["tenant"]'}
      - {name: other shape, key: 'log.attributes["tenant"]'}
      - {name: removed, key: 'log.attributes["tenant"]'}
`
	rulesAfter = `
      - {name: other shape, key: 'log.attributes["tenant"]', accuracy: {epsilon: 0.01}}
      - {name: added, key: 'log.attributes["tenant"]'}
      - {name: other weight, key: 'log.attributes["tenant"]', weight: 'log.attributes["bytes"]'}
      - {name: other k, key: 'log.attributes["tenant"]', k: 5}
      - {name: other key, key: 'log.attributes["route"]'}
      - {name: same, key: 'log.attributes["tenant"]'}
`
)

// The same rule goes on, with another k as well. One that counts something else begins anew, which its list and the log say.
func TestAReloadTakesWhatChanged(t *testing.T) {
	t.Parallel() // most of the time is waiting
	d := startStoring(t, "wall", rulesBefore)
	sendTenants(t, d.into[0], 70)
	for _, rule := range []string{"same", "other k", "other key", "other weight", "other shape", "removed"} {
		d.answers.AwaitTotal(t, 70, "rule", rule, "window", "24h")
	}
	d.answers.Configure(t, singleConfig("wall", "logs", rulesAfter))
	d.answers.Reload(t)
	sendTenants(t, d.into[0], 7)

	for _, row := range []struct {
		rule, k string
		total   uint64
		first   string
		anew    bool
	}{
		{"same", "100", 77, "tenant-0", false},
		{"other k", "5", 77, "tenant-0", false},
		{"other key", "100", 7, "/0", true},
		{"other weight", "100", 700, "tenant-0", true},
		{"other shape", "100", 7, "tenant-0", true},
		{"added", "100", 7, "tenant-0", false},
		{"removed", "100", 70, "tenant-0", false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			list := d.answers.AwaitTotal(t, row.total, "rule", row.rule, "window", "24h", "k", row.k)
			assert.Equal(t, row.first, list.Items[0].Key)
			assert.Contains(t, list.PartialReasons, "short_window", "nobody counted for the whole day")
			assert.Equal(t, row.anew, strings.Contains(d.answers.Output(), `"rule": "`+row.rule+`"`), "the log names it")
		})
	}
}

// A configuration that does not load ends the collector, as of any collector. What was answered is there at the next start.
func TestABadConfigurationAtAReloadLosesNothing(t *testing.T) {
	t.Parallel() // most of the time is waiting
	d := startStoring(t, "wall", tenantRule)
	sendTenants(t, d.into[0], 70)
	d.answers.Configure(t, singleConfig("wall", "logs", "      - name: tenants\n        key: log.no_such_field\n"))
	assert.Equal(t, 1, d.answers.ReloadRefused(t))
	assert.Contains(t, d.answers.Output(), "no_such_field")

	d.answers.Configure(t, singleConfig("wall", "logs", tenantRule))
	d.answers = d.answers.Again(t)
	d.answers.AwaitReady(t)
	sendTenants(t, d.into[0], 7)
	d.answers.AwaitTotal(t, 77, "window", "24h")
}

// Final states that no gateway has answered outlast a stop, and go at the next start.
func TestFinalsThatWereNotAnsweredComeAfterARestart(t *testing.T) {
	t.Parallel() // most of the time is waiting
	later, ports := collector.NewPorts(), collector.NewPorts()
	ports.Share(t, "states", later, "states")
	config := otlpReceiver + fmt.Sprintf(topkProcessor, "event", tenantRule) + nopExporter + fmt.Sprintf(countingPipeline, "logs")
	agent := collector.Start(t, config, ports, storing(t, processorStores)...)
	to := collector.NewPatientSender(t, ports.Address(t, "otlp"))
	for minute := range 5 {
		require.NoError(t, to.Logs(t.Context(), tenants(10, noon.Add(time.Duration(minute)*time.Minute))))
	}
	agent.Stop(t)
	assert.NotContains(t, agent.Output(), "lost")

	agent = agent.Again(t)
	agent.AwaitReady(t)
	require.NoError(t, to.Logs(t.Context(), tenants(10, noon.Add(5*time.Minute))))
	gateway := collector.Start(t, gatewayConfig("event"), later)
	list := gateway.AwaitTotal(t, 60, "window", "24h")
	assert.Zero(t, list.Coverage.Dropped)
	gateway.AwaitReporting(t, 1, "window", "24h")
}
