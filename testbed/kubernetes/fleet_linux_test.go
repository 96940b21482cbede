package kubernetes_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// client that trusts the CA of the gateways, and holds what is shown against a name.
func (c *cluster) client(t *testing.T, name string) *http.Client {
	t.Helper()
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM([]byte(c.secrets["otel-topk/topk-sender"]["ca.crt"])))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: name, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}
}

// send n records of one tenant, as a program does.
func send(t *testing.T, client *http.Client, url, tenant string, n int) {
	t.Helper()
	record := fmt.Sprintf(`{"timeUnixNano":"%d","attributes":[{"key":"tenant.id","value":{"stringValue":"%s"}}]}`, time.Now().UnixNano(), tenant)
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + strings.TrimSuffix(strings.Repeat(record+",", n), ",") + `]}]}]}`
	answer, err := client.Post(url+"/v1/logs", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	said, _ := io.ReadAll(answer.Body)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s", said)
}

// list of a gateway by tenant.
func (c *cluster) list(t *testing.T, gateway *pod, client *http.Client) (status int, counts map[string]int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+net.JoinHostPort(gateway.ip, "7070")+"/v1/trending?rule=tenants&window=5m&k=10", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+c.secrets["otel-topk/topk-readers"]["token"])
	answer, err := client.Do(request)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	var body struct {
		Items []struct {
			Key      string
			Estimate int
		}
	}
	_ = json.NewDecoder(answer.Body).Decode(&body) // of what is no list nothing is asked
	counts = make(map[string]int)
	for _, item := range body.Items {
		counts[item.Key] = item.Estimate
	}
	return answer.StatusCode, counts
}

func (c *cluster) awaitList(t *testing.T, gateway *pod, want map[string]int) {
	t.Helper()
	client := c.client(t, "topk-lists.otel-topk.svc")
	var status int
	var got map[string]int
	require.Eventually(t, func() bool {
		status, got = c.list(t, gateway, client)
		return assert.ObjectsAreEqual(want, got)
	}, patience, 100*time.Millisecond, "%s: want %v", gateway.name, want)
	require.Equal(t, http.StatusOK, status, "%v", got)
}

func TestTheFleetCountsWhatIsSentToItAndEitherGatewayMayDie(t *testing.T) {
	c := newCluster(t)
	gateways := []*pod{c.start(t, c.named(t, "topk-gateway"), 0), c.start(t, c.named(t, "topk-gateway"), 1)}
	agent := c.start(t, c.named(t, "topk-agent"), 0)
	shards := []*pod{c.start(t, c.named(t, "topk-shard"), 0), c.start(t, c.named(t, "topk-shard"), 1)}
	beside := c.start(t, c.named(t, "checkout"), 0)
	all := slices.Concat(gateways, shards, []*pod{agent, beside})
	for _, p := range all {
		listensWhereItSays(t, p)
		memoryFollowsFromTheBound(t, p)
	}
	c.strangersAreRefused(t, gateways[0])
	toShards := c.client(t, "topk-shard.otel-topk.svc")
	send(t, http.DefaultClient, "http://"+agent.ip+":4318", "agents", 5)
	send(t, toShards, "https://"+shards[0].ip+":4318", "shards", 3)
	send(t, toShards, "https://"+shards[1].ip+":4318", "shards", 4)
	send(t, http.DefaultClient, "http://"+beside.inside()+":4318", "sidecars", 2)
	want := map[string]int{"agents": 5, "shards": 7, "sidecars": 2}
	for _, g := range gateways {
		c.awaitList(t, g, want)
	}

	gateways[0].kill()
	send(t, http.DefaultClient, "http://"+agent.ip+":4318", "agents", 10)
	want["agents"] += 10
	c.awaitList(t, gateways[1], want)
	gateways[0].again(t)
	c.awaitList(t, gateways[0], want)
}

// strangersAreRefused tries to send states without a certificate, and to read without a token.
func (c *cluster) strangersAreRefused(t *testing.T, gateway *pod) {
	t.Helper()
	sender := c.secrets["otel-topk/topk-sender"]
	certificate, err := tls.X509KeyPair([]byte(sender["tls.crt"]), []byte(sender["tls.key"]))
	require.NoError(t, err)
	for who, shown := range map[string][]tls.Certificate{"a sender": {certificate}, "a stranger": nil} {
		config := c.client(t, "topk-gateway-0.topk-gateway.otel-topk.svc").Transport.(*http.Transport).TLSClientConfig
		config.Certificates, config.NextProtos = shown, []string{"h2"}
		conn, err := tls.Dial("tcp", net.JoinHostPort(gateway.ip, "7071"), config)
		require.NoError(t, err, "the server of TLS 1.3 looks at certificates when the client is done")
		_, err = conn.Read(make([]byte, 1)) // the server begins
		assert.Equal(t, shown == nil, err != nil, "%s: %v", who, err)
		_ = conn.Close()
	}
	answer, err := c.client(t, "topk-lists.otel-topk.svc").Get("https://" + net.JoinHostPort(gateway.ip, "7070") + "/v1/rules")
	require.NoError(t, err)
	_ = answer.Body.Close()
	assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
}

// listensWhereItSays holds the ports that a process has open against those of its container. What listens on localhost is for
// the pod alone and no port of it.
func listensWhereItSays(t *testing.T, p *pod) {
	t.Helper()
	var said []int
	for _, port := range p.of.collector.Ports {
		said = append(said, int(port.ContainerPort))
	}
	assert.ElementsMatch(t, said, p.listening(t), p.name)
}

// listening ports on the pod's address.
func (p *pod) listening(t *testing.T) (ports []int) {
	t.Helper()
	sockets := make(map[string]bool)
	folder := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
	files, err := os.ReadDir(folder + "/fd")
	require.NoError(t, err)
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(folder, "fd", f.Name())); err == nil {
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				sockets[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(folder + "/net/" + table)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) < 10 || words[3] != "0A" || !sockets[words[9]] { // 0A: listens
				continue
			}
			host, port, _ := strings.Cut(words[1], ":")
			number, err := strconv.ParseInt(port, 16, 32)
			require.NoError(t, err)
			if host != p.hex(p.inside()) {
				ports = append(ports, int(number))
			}
		}
	}
	return ports
}

// hex is how /proc writes an address.
func (p *pod) hex(ip string) string {
	b := net.ParseIP(ip).To4()
	return fmt.Sprintf("%02X%02X%02X%02X", b[3], b[2], b[1], b[0])
}

func memoryFollowsFromTheBound(t *testing.T, p *pod) {
	t.Helper()
	bound := int64(0)
	for _, found := range memoryBounds.FindAllStringSubmatch(p.said.String(), -1) {
		n, err := strconv.ParseInt(found[1], 10, 64)
		require.NoError(t, err)
		bound += n
	}
	require.Positive(t, bound, p.said.String())
	request, limit := p.of.collector.Resources.Requests.Memory().Value(), p.of.collector.Resources.Limits.Memory().Value()
	t.Logf("%s: bound %d MiB, limit %d MiB", p.name, bound>>20, limit>>20)
	name := strings.TrimPrefix(p.of.meta.Name, "topk-")
	if p.of.kind == "Deployment" {
		name = "sidecar"
	}
	assert.Contains(t, examples.Read(t, fleetFolder+"/README.md"), fmt.Sprintf("| %s | %d MiB | %d MiB |", name, mebibytes(bound), limit>>20))
	assert.Equal(t, limit, request, "%s: what it may take is there", p.name)
	assert.False(t, p.of.collector.Resources.Requests.Cpu().IsZero(), p.name)
	assert.LessOrEqual(t, limit, 2*bound, p.name)
	goal := int64(0)
	for _, e := range p.of.collector.Env {
		if e.Name == "GOMEMLIMIT" {
			mebibytes, ok := strings.CutSuffix(e.Value, "MiB")
			require.True(t, ok)
			n, err := strconv.ParseInt(mebibytes, 10, 64)
			require.NoError(t, err)
			goal = n << 20
		}
	}
	assert.Greater(t, goal, bound, p.name)
	assert.Less(t, goal, limit, p.name)
	if limiter := regexp.MustCompile(`"limit_mib"`); limiter.MatchString(p.said.String()) {
		assert.LessOrEqual(t, goal, limit*8/10, "%s: garbage is collected before memory_limiter refuses records", p.name)
	}
}

func TestConfigurationsAreValidAsTheyStand(t *testing.T) {
	c := newCluster(t)
	for _, w := range c.workloads {
		p := &pod{name: w.meta.Name, ip: "192.0.2.1", of: w, root: t.TempDir(), volumes: make(map[string]string)}
		c.mount(t, p)
		for _, m := range w.collector.VolumeMounts { // names and addresses as they are
			files, _ := c.content(t, w, m.Name)
			if text, ok := files["config.yaml"]; ok {
				require.NoError(t, os.WriteFile(filepath.Join(p.volumes[m.MountPath], "config.yaml"), []byte(p.local(text)), 0o600))
			}
		}
		cmd := exec.Command(collector.Binary(t, "otelcol-topk"), append([]string{"validate"}, p.command(nil).Args[1:]...)...)
		cmd.Env = c.environment(t, p)
		said, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s: %s", w.meta.Name, said)
	}
}
