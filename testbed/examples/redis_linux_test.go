package examples_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
)

// The commands of the README that start gateways side by side, with other addresses of this machine.
func TestGatewaysSideBySideOfTheREADME(t *testing.T) {
	dir, server := t.TempDir(), miniredis.RunT(t)
	net4 := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(250), 1+rand.IntN(250))
	var started []*collector.Collector
	for line := range strings.Lines(strings.Join(snippets(t, "README.md", "sh"), "")) {
		if !strings.Contains(line, "examples/redis") {
			continue
		}
		ports := collector.NewPorts()
		_, port, err := net.SplitHostPort(ports.Address(t, "telemetry"))
		require.NoError(t, err)
		for name, value := range map[string]string{
			"TOPK_SHARD": "", "TOPK_SEED": seed, "TOPK_STORAGE": dir, "TOPK_LISTEN": net4 + "1", "METRICS_PORT": port, "REDIS_ADDRESS": server.Addr(),
			"TOPK_GATEWAY": net4 + "1:7071", "TOPK_GATEWAY_B": net4 + "2:7071", "AGENT_OTLP": ports.Address(t, "otlp"),
		} {
			t.Setenv(name, value)
		}
		var files, args []string
		for _, word := range strings.Fields(line) {
			switch name, value, set := strings.Cut(word, "="); {
			case name == "TOPK_STORAGE":
				t.Setenv(name, filepath.Join(dir, value))
			case name == "TOPK_LISTEN":
				t.Setenv(name, strings.Replace(value, "127.0.0.", net4, 1))
			case set && name != "METRICS_PORT":
				t.Setenv(name, value)
			case strings.HasPrefix(word, "examples/"):
				files = append(files, word)
				args = append(args, "--config", examples.Path(t, word))
			}
		}
		started = append(started, collector.Start(t, examples.Read(t, files[0]), ports, args...))
	}
	require.Len(t, started, 4)
	stream(t, collector.NewSender(t, started[2].Ports.Address(t, "otlp")), newGenerator(t), 1)
	for host, whose := range []string{"of a gateway", "of the other", "at the reader"} {
		var list oracle.List
		collector.Await(t, func() bool {
			_, body := collector.Get(t, fmt.Sprintf("%s%d:7070", net4, host+1), "/v1/trending?rule=tenants")
			return json.Unmarshal([]byte(body), &list) == nil && list.Total == perRequest
		}, func() string { return fmt.Sprintf("no list %s: %+v", whose, list) })
	}
	for _, gateway := range []string{"a", "b"} {
		assert.FileExists(t, filepath.Join(dir, "storage", gateway, "gateway", "exporter_topk_"))
	}
}
