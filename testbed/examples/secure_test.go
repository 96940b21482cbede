package examples_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/certs"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
)

// The secrets of the secure examples, and what openssl passwd -6 makes of the passwords.
const (
	seed           = "seed+of/this fleet="
	agentToken     = "agents+token/1="
	readerToken    = "readers+token/2="
	agentPassword  = "the password of an agent"
	readerPassword = "the password of a reader"
	agentHash      = "$6$examples$M9eSd518weT7Mq9Z74fSqZeiNOlkX0..lwKfVt/i/cZwptE6CEIZlUgT0cXb.ggY86Byw6n1RAmUjRLK2CrOi."
	readerHash     = "$6$examples$CTu0zHmNzlQG09qgXAIKYFrJIC0HppE1YHlNEDlaNMofpz6rVr4On0Fbjz89m.oEXNaoqoPsA5QT8SjbGjlbi0"
)

// secured is what a folder of examples/secure must refuse.
type secured struct {
	agents map[string]string // YAML over the fleet's agent
	askers map[string]func(q question, elsewhere string) question
	status int // that such an asker gets; 0: no connection
}

// refusal is what an agent says in its log.
func (s *secured) refusal(why string) string {
	if s.status == http.StatusUnauthorized && why != "without TLS" {
		return "Gateway refuses the credentials"
	}
	return "Gateway does not answer"
}

func folders(t *testing.T, elsewhere string) map[string]secured {
	t.Helper()
	plain := "processors: {topk: {gateways: [{endpoint: here}]}}" // as the fleet's agent is
	tlsAlone := examples.Read(t, "examples/secure/tls/agent.yaml")
	of := func(folder string, replacements ...string) string {
		text := examples.Read(t, "examples/secure/"+folder+"/agent.yaml")
		changed := strings.NewReplacer(replacements...).Replace(text)
		require.NotEqual(t, text, changed)
		return changed
	}
	return map[string]secured{
		"tls": {
			agents: map[string]string{
				"without TLS":       plain,
				"trusts another CA": of("tls", "${env:TOPK_CERTS:-certs}", elsewhere),
			},
			askers: map[string]func(question, string) question{
				"trusts another CA": func(q question, elsewhere string) question { return q.with(elsewhere) },
			},
		},
		"mtls": {
			agents: map[string]string{
				"without TLS":               plain,
				"without a certificate":     tlsAlone,
				"certificate of another CA": of("mtls", "${env:TOPK_CERTS:-certs}/agent", elsewhere+"/agent"),
			},
			askers: map[string]func(question, string) question{
				"without a certificate": func(q question, _ string) question { q.cert, q.key = "", ""; return q },
				"certificate of another CA": func(q question, elsewhere string) question {
					ca := q.ca
					q = q.with(elsewhere)
					q.ca = ca
					return q
				},
			},
		},
		"bearer": {
			agents: map[string]string{
				"without TLS":      plain,
				"without a token":  tlsAlone,
				"a reader's token": of("bearer", "TOPK_AGENT_TOKEN", "TOPK_READER_TOKEN"),
			},
			askers: map[string]func(question, string) question{
				"without a token":  func(q question, _ string) question { q.header = ""; return q },
				"an agent's token": func(q question, _ string) question { q.header = "Authorization: Bearer " + agentToken; return q },
			},
			status: http.StatusUnauthorized,
		},
		"basic": {
			agents: map[string]string{
				"without TLS":      plain,
				"without a login":  tlsAlone,
				"a wrong password": of("basic", "TOPK_AGENT_PASSWORD", "TOPK_READER_PASSWORD"),
			},
			askers: map[string]func(question, string) question{
				"without a login":  func(q question, _ string) question { q.user = ""; return q },
				"a wrong password": func(q question, _ string) question { q.user = "reader:" + agentPassword; return q },
			},
			status: http.StatusUnauthorized,
		},
	}
}

// setSecrets makes what the examples ask for: certificates, password files, variables.
func setSecrets(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeCerts(t, dir)
	for name, line := range map[string]string{"agents": "agent:" + agentHash, "readers": "reader:" + readerHash} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".htpasswd"), []byte(line+"\n"), 0o600))
	}
	for name, value := range map[string]string{
		"TOPK_CERTS": dir, "TOPK_SEED": seed,
		"TOPK_AGENT_TOKEN": agentToken, "TOPK_READER_TOKEN": readerToken,
		"TOPK_AGENT_PASSWORD": agentPassword, "TOPK_READER_PASSWORD": readerPassword,
	} {
		t.Setenv(name, value)
	}
	return dir
}

func writeCerts(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, certs.Write(dir, []string{"localhost", "127.0.0.1"}, time.Hour))
}

// questions that the page shows, by folder.
func questions(t *testing.T, dir string) map[string]question {
	t.Helper()
	found := make(map[string]question)
	for line := range strings.Lines(strings.Join(snippets(t, "examples/secure/README.md", "sh"), "")) {
		if !strings.HasPrefix(line, "curl") {
			continue
		}
		q := parseQuestion(t, strings.TrimSpace(line)).with(dir)
		switch {
		case q.cert != "":
			found["mtls"] = q
		case q.header != "":
			found["bearer"] = q
		case q.user != "":
			found["basic"] = q
		default:
			found["tls"] = q
		}
	}
	return found
}

const (
	debugLevel = "service: {telemetry: {logs: {level: debug}}}"
	often      = "processors: {topk: {emit_interval: 100ms}}"
)

func TestSecuredFleetsTakeWhoMaySendAndRefuseOthers(t *testing.T) {
	dir, elsewhere := setSecrets(t), t.TempDir()
	writeCerts(t, elsewhere)
	asked := questions(t, dir)
	for name, folder := range folders(t, elsewhere) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			ports := collector.NewPorts()
			gateway := collector.Start(t, examples.Load(t, "examples/fleet/gateway.yaml",
				examples.Read(t, "examples/secure/"+name+"/gateway.yaml"), debugLevel), ports)
			refused := make(map[string]*collector.Collector)
			for why, over := range folder.agents {
				refused[why] = startAgent(t, ports, 1, over)
			}
			taken := startAgent(t, ports, 2, examples.Read(t, "examples/secure/"+name+"/agent.yaml"))
			awaitAnswer(t, asked[name], ports.Address(t, "api"), 2*perRequest)
			refuseAskers(t, asked[name], folder, ports.Address(t, "api"), elsewhere)
			for why, agent := range refused {
				awaitRefusal(t, agent, folder.refusal(why), why)
			}
			var ending sync.WaitGroup
			for _, c := range append(slices.Collect(maps.Values(refused)), taken) {
				ending.Go(func() { c.Stop(t) }) // one whose gateway refuses it tries for a while
			}
			ending.Wait()
			saysNoSecret(t, gateway.Output())
			for _, c := range append(slices.Collect(maps.Values(refused)), taken) {
				saysNoSecret(t, c.Output())
			}
		})
	}
}

// startAgent of the fleet with what stands over its configuration, and send it requests.
func startAgent(t *testing.T, gateway *collector.Ports, requests int, over string) *collector.Collector {
	t.Helper()
	ports := collector.NewPorts()
	ports.Share(t, "states", gateway, "states")
	c := collector.Start(t, examples.Load(t, "examples/fleet/agent.yaml", over, often, debugLevel), ports)
	stream(t, collector.NewSender(t, ports.Address(t, "otlp")), newGenerator(t), requests)
	return c
}

// awaitRefusal waits until an agent says that its gateway does not take what it sends.
func awaitRefusal(t *testing.T, agent *collector.Collector, says, why string) {
	t.Helper()
	collector.Await(t, func() bool {
		up := regexp.MustCompile(`(?m)^otelcol_processor_topk_gateway_up\{.*\} 0$`)
		return up.MatchString(agent.Telemetry(t)) && strings.Contains(agent.Output(), says)
	}, func() string { return "no refusal of an agent that is " + why + ":\n" + agent.Output() })
	assert.NotContains(t, agent.Telemetry(t), `otelcol_processor_topk_requests{outcome="answered"`, why)
}

// awaitAnswer asks until the list holds this total weight: of who may send, and of nobody else.
func awaitAnswer(t *testing.T, q question, api string, total uint64) {
	t.Helper()
	q = q.at(api, strings.TrimPrefix(q.url, "https://localhost:7070"))
	var list oracle.List
	var body string
	collector.Await(t, func() bool {
		status, text, err := q.ask(t)
		body = text
		return err == nil && status == http.StatusOK && json.Unmarshal([]byte(text), &list) == nil && list.Total == total
	}, func() string { return "no list of " + q.url + ":\n" + body })
	assert.Equal(t, 1, list.Coverage.Reporting)
	for _, path := range []string{"/v1/rules", "/v1/status", "/metrics"} {
		_, body, err := q.at(api, path).ask(t)
		require.NoError(t, err)
		saysNoSecret(t, body)
	}
}

func refuseAskers(t *testing.T, q question, folder secured, api, elsewhere string) {
	t.Helper()
	paths := []string{"/v1/trending", "/v1/count?key=a", "/v1/rules", "/v1/status", "/top", "/", "/metrics", "/healthz", "/openapi.yaml", "/none"}
	for why, changed := range folder.askers {
		for _, path := range paths {
			status, body, err := changed(q, elsewhere).at(api, path).ask(t)
			if folder.status == 0 {
				require.Error(t, err, "%s: %s", why, path)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, folder.status, status, "%s: %s", why, path)
			var answer struct{ Error string }
			require.NoError(t, json.Unmarshal([]byte(body), &answer), "%s: %s: %s", why, path, body)
			assert.NotEmpty(t, answer.Error)
			saysNoSecret(t, body)
		}
	}
	q.url = "http://here"
	status, _, err := q.at(api, "/v1/trending").ask(t)
	assert.True(t, err != nil || status == http.StatusBadRequest, "without TLS: %d %v", status, err)
}

func saysNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{
		seed, agentToken, readerToken, agentPassword, readerPassword, agentHash, readerHash,
		base64.StdEncoding.EncodeToString([]byte("agent:" + agentPassword)), base64.StdEncoding.EncodeToString([]byte("reader:" + readerPassword)),
	} {
		assert.NotContains(t, text, secret)
	}
}
