package servers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
)

func TestTwoGatewaysAndRedisMayDieUnderLoad(t *testing.T) {
	p := newPair(t, both)
	p.send()
	p.await()
	var shared oracle.List
	require.NoError(t, json.Unmarshal([]byte(p.redis.Command("GET", "topk:list:tenants:1h:global")), &shared))
	assert.Equal(t, p.total(), shared.Total)
	assert.Len(t, shared.Items, 100)
	for i, command := range commandsOfTheReadme(t) { // of an interval in which nothing comes
		said := p.redis.Command(command...)
		assert.Contains(t, said, shared.Items[i].Key)
		assert.Contains(t, said, fmt.Sprint(shared.Items[i].Estimate))
	}
	assert.NotEmpty(t, p.redis.Command("GET", "topk:list:tenants:5m:group:us-east-1"))
	assert.Equal(t, "0", p.redis.Command("EXISTS", "top:1h"), "there are three rules")

	rest, watched := p.load(), p.watch()
	for i := range p.gateways { // each of them, and it comes back
		p.gateways[i].Kill()
		p.awaitNews()
		p.gateways[i] = p.gateways[i].Again(t)
		p.gateways[i].AwaitReady(t)
		p.awaitNews()
	}
	p.redis.Kill()
	for _, c := range []*collector.Collector{p.gateways[0], p.gateways[1], p.readers[0], p.readers[1]} {
		p.awaitOutput(c, "Redis fails; lists go on from memory")
	}
	p.redis.Begin() // it is empty
	p.awaitNews()
	rest()
	p.await()
	watched()

	for i := range p.readers {
		p.readers[i].Kill()
		p.send()
		p.readers[i] = p.readers[i].Again(t)
		p.readers[i].AwaitReady(t)
		p.await()
	}
}

func TestGatewaysThatSplitTheRulesShareOneRedis(t *testing.T) {
	p := newPair(t, "processors: {topk: {gateways: [{rules: [tenants]}, {rules: [clients_by_bytes, failing_endpoints]}]}}")
	p.send()
	p.await()
	for i, of := range []struct{ rule, other string }{{"tenants", "clients_by_bytes"}, {"clients_by_bytes", "tenants"}} {
		assert.Equal(t, p.total(), p.gateways[i].Trending(t, "rule", of.rule, "window", "1h").Records)
		status, _ := p.gateways[i].Get(t, "/v1/trending?rule="+of.other)
		assert.Equal(t, http.StatusNotFound, status)
		for _, r := range p.readers {
			assert.Equal(t, p.total(), r.Trending(t, "rule", of.rule, "window", "1h").Records, "both halves are at each reader")
		}
	}
	assert.Equal(t, "0", p.redis.Command("EXISTS", "top:1h"), "there is another rule, which the other gateway knows")

	watched := p.watch()
	p.gateways[1].Kill()
	before := p.total()
	p.send()
	p.await()
	assert.Equal(t, before, p.readers[0].Trending(t, "rule", "clients_by_bytes", "window", "1h").Records, "the old list")
	p.gateways[1] = p.gateways[1].Again(t)
	p.gateways[1].AwaitReady(t)
	collector.AwaitFor(t, time.Minute, func() bool {
		return p.readers[1].Trending(t, "rule", "clients_by_bytes", "window", "1h").Records == p.total()
	}, func() string { return "nothing new of the gateway that is back" })
	watched()
}

// commandsOfTheReadme are those of redis-cli.
func commandsOfTheReadme(t *testing.T) (commands [][]string) {
	for line := range strings.Lines(examples.Read(t, "exporter/topkexporter/redis.md")) {
		if command, ok := strings.CutPrefix(line, "redis-cli "); ok {
			command, _, _ = strings.Cut(command, "#")
			commands = append(commands, strings.Fields(command))
		}
	}
	require.Len(t, commands, 2)
	return commands
}
