package examples_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
)

// The files of the fleet as they are, with their variables: on Linux every address of 127.0.0.0/8 is this machine.
func TestTheFleetIsSetByVariables(t *testing.T) {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), 1+rand.IntN(250), 1+rand.IntN(250))
	dir := t.TempDir()
	start := func(name string, variables map[string]string) *collector.Collector {
		t.Helper()
		ports := collector.NewPorts()
		_, port, err := net.SplitHostPort(ports.Address(t, "telemetry"))
		require.NoError(t, err)
		t.Setenv("METRICS_PORT", port)
		t.Setenv("TOPK_STORAGE", dir)
		for variable, value := range variables {
			if value == "<otlp>" {
				value = ports.Address(t, "otlp")
			}
			t.Setenv(variable, value)
		}
		// Named a second time, the file has the last word on where its metrics are.
		return collector.Start(t, examples.Read(t, name), ports, "--config", examples.Path(t, name))
	}
	start("examples/fleet/gateway.yaml", map[string]string{"TOPK_LISTEN": host})
	for _, name := range []string{"a", "b"} {
		agent := start("examples/fleet/agent.yaml", map[string]string{
			"TOPK_SHARD": name, "TOPK_SEED": seed, "TOPK_GATEWAY": host + ":7071", "AGENT_OTLP": "<otlp>",
		})
		stream(t, collector.NewSender(t, agent.Ports.Address(t, "otlp")), newGenerator(t), 1)
		assert.Contains(t, agent.Telemetry(t), "otelcol_processor_topk_records_counted", "METRICS_PORT")
		assert.FileExists(t, filepath.Join(dir, "agent-"+name, "processor_topk_"))
	}
	assert.FileExists(t, filepath.Join(dir, "gateway", "receiver_trend_"))
	assert.FileExists(t, filepath.Join(dir, "gateway", "exporter_topk_"))
	status, _ := collector.Get(t, host+":13133", "/")
	assert.Equal(t, http.StatusOK, status)

	var list oracle.List
	collector.Await(t, func() bool {
		_, body := collector.Get(t, host+":7070", "/v1/trending?rule=tenants")
		return json.Unmarshal([]byte(body), &list) == nil && list.Total == 2*perRequest
	}, func() string { return fmt.Sprintf("no list of both agents: %+v", list) })
	assert.Equal(t, 2, list.Coverage.Reporting)
}
