package servers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// prometheus is a running server that scrapes each target, and evaluates our alert rules, every second.
type prometheus struct{ address string }

func startPrometheus(t *testing.T, targets ...string) *prometheus {
	t.Helper()
	dir, address := t.TempDir(), collector.NewPorts().Address(t, "prometheus")
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: topk, scrape_interval: 1s, static_configs: [{targets: ['%s']}]}]
`, examples.Path(t, "deploy/prometheus/rules.yaml"), strings.Join(targets, "', '")), 0o600))
	var output strings.Builder
	cmd := exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // an error means that it has ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	collector.Await(t, func() bool {
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, func() string { return "no Prometheus that is ready" })
	return &prometheus{address}
}

// series that a query returns: their labels.
func (p *prometheus) series(t *testing.T, query string) []map[string]string {
	t.Helper()
	status, body := collector.Get(t, p.address, "/api/v1/query?query="+url.QueryEscape(query))
	require.Equal(t, http.StatusOK, status, body)
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	var found []map[string]string
	for _, r := range answer.Data.Result {
		found = append(found, r.Metric)
	}
	return found
}

func TestPrometheusScrapesTheExporterAndThePipeline(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/prometheus/collector.yaml"), ports)
	send(t, ports, names...)
	c.AwaitTotal(t, uint64(len(names)))

	exporter, pipeline := ports.Address(t, "api"), ports.Address(t, "prometheus")
	server := startPrometheus(t, exporter, pipeline)
	sorted := slices.Sorted(slices.Values(repaired())) // the order of a list of equal weights
	for target, want := range map[string][]string{exporter: sorted[:10], pipeline: sorted} {
		query := fmt.Sprintf(`topk_estimate{instance=%q, window="5m"} * on (instance, rule, window, scope, rank) group_right topk_key_info{window="5m"}`, target)
		var found []map[string]string
		collector.Await(t, func() bool {
			found = server.series(t, query)
			return len(found) == len(want)
		}, func() string { return fmt.Sprintf("%d of %d keys at %s", len(found), len(want), target) })
		var keys []string
		for _, labels := range found {
			keys = append(keys, labels["key"])
		}
		assert.ElementsMatch(t, want, keys, target)
	}
}

func TestMetricsPassPromtool(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/prometheus/collector.yaml"), ports)
	send(t, ports, names...)
	c.AwaitTotal(t, uint64(len(names)))
	for _, name := range []string{"api", "prometheus"} {
		var body string
		collector.Await(t, func() bool {
			_, body = collector.Get(t, ports.Address(t, name), "/metrics")
			return strings.Contains(body, "topk_estimate{")
		}, func() string { return name + " without a list:\n" + body })
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = strings.NewReader(body)
		said, err := check.CombinedOutput()
		assert.NoError(t, err, "%s: %s", name, said)
	}
}

func TestTheExampleScrapeConfigurationIsValid(t *testing.T) {
	said, err := exec.Command("promtool", "check", "config", examples.Path(t, "examples/prometheus/prometheus.yml")).CombinedOutput()
	assert.NoError(t, err, "%s", said)
}
