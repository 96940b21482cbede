package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

// member is a collector of a fleet and the folder it stores in.
type member struct {
	*collector.Collector
	name     string
	folder   string
	api      *api          // that the member serves; nil: an agent
	lateness time.Duration // of an agent
	kills    int
}

// fleet is agents and their gateway.
type fleet struct {
	settings
	gateway *member
	agents  []*member
}

// settings of a fleet.
type settings struct {
	clock    string
	lateness time.Duration // of the first agent
	stagger  time.Duration // more of each further one
	agents   int
	folder   string // that holds what members store; "": one of the test
}

func startFleet(t *testing.T, s settings) *fleet {
	t.Helper()
	if s.folder == "" {
		s.folder = t.TempDir()
	}
	f := &fleet{settings: s}
	ports, stored := collector.NewPorts(), f.store(t, "gateway")
	config := fmt.Sprintf(gatewayConfig, stored, s.clock)
	f.gateway = &member{
		Collector: collector.Start(t, config, ports, componentStatus),
		name:      "gateway", folder: stored, api: newAPI(ports.Address(t, "api")),
	}
	f.gateway.api.rises()
	for range s.agents {
		f.addAgent(t, ports, "states")
	}
	return f
}

// addAgent starts an agent that sends to the address of that name.
func (f *fleet) addAgent(t *testing.T, to *collector.Ports, states string) {
	t.Helper()
	name := fmt.Sprintf("agent-%d", len(f.agents)+1)
	ports, stored := collector.NewPorts(), f.store(t, name)
	ports.Share(t, "states", to, states)
	lateness := f.lateness + time.Duration(len(f.agents))*f.stagger
	config := fmt.Sprintf(agentConfig, stored, name, f.clock, lateness, rules)
	f.agents = append(f.agents, &member{
		Collector: collector.Start(t, config, ports, componentStatus), name: name, folder: stored, lateness: lateness,
	})
}

// store is the folder of a member.
func (f *fleet) store(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join(f.folder, name)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	return folder
}

// clients of all agents, so many each.
func (f *fleet) clients(t *testing.T, seed uint64, each int, w workload, l *ledger) []*client {
	t.Helper()
	var list []*client
	for _, agent := range f.agents {
		w.lateness = agent.lateness
		for i := range each {
			name := fmt.Sprintf("%s-%d", agent.name, i)
			list = append(list, newClient(t, agent.Ports.Address(t, "otlp"), name, seed+uint64(len(list)), w, l))
		}
	}
	return list
}

// members are the gateway and all agents.
func (f *fleet) members() []*member { return append([]*member{f.gateway}, f.agents...) }

// kill -9.
func (m *member) kill() {
	if m.api != nil {
		m.api.falls()
	}
	m.Kill()
	m.kills++
}

// restart from what is stored; one time of four the member is killed once more while it starts.
func (m *member) restart(t *testing.T, rng *rand.Rand) {
	t.Helper()
	if rng.IntN(4) == 0 {
		m.Collector = m.Again(t)
		pause(rng, 0, 300*time.Millisecond)
		m.Kill()
		m.kills++
	}
	m.start(t)
}

// start again what has ended.
func (m *member) start(t *testing.T) {
	t.Helper()
	m.Collector = m.Again(t)
	m.AwaitReady(t)
	if m.api != nil {
		m.api.rises()
	}
}

// end as an init system ends it.
func (m *member) end(t *testing.T) {
	t.Helper()
	if m.api != nil {
		m.api.falls()
	}
	m.Stop(t)
}

// pause for a random time.
func pause(rng *rand.Rand, low, high time.Duration) {
	<-time.After(low + time.Duration(rng.Int64N(int64(high-low))))
}

// queries for all lists that the records of clients make.
func queries() []query {
	var list []query
	for _, window := range []string{"1m", "5m", "1h"} {
		for _, rule := range ruleNames {
			list = append(list, query{rule, window, oracle.Global})
		}
		for _, region := range []string{"us-east-1", "eu-west-1", "us-west-2"} {
			list = append(list, query{"tenants", window, oracle.Named(region)})
		}
	}
	return list
}
