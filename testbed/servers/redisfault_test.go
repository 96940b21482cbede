package servers_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
	"github.com/otel-topk/collector/testbed/redis"
)

// delay passes everything on between address and a server, each piece after some nanoseconds.
func delay(t testing.TB, address, to string) *atomic.Int64 {
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	by := new(atomic.Int64)
	pass := func(from, into net.Conn) {
		defer from.Close()
		defer into.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if d := time.Duration(by.Load()); d > 0 && n > 0 {
				<-time.After(d)
			}
			if _, failed := into.Write(buffer[:n]); err != nil || failed != nil {
				return // to the end of both
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go pass(client, server)
			go pass(server, client)
		}
	}()
	return by
}

func TestASlowRedisMakesListsLateAndNothingElse(t *testing.T) {
	ports := collector.NewPorts()
	p := &pair{TB: t, counts: oracle.NewCounts(), address: ports.Address(t, "behind")}
	p.redis = redis.Start(t, p.address)
	by := delay(t, ports.Address(t, "redis"), p.address)
	p.start(ports, both)
	p.send()
	p.await()

	rest, watched := p.load(), p.watch()
	by.Store(int64(50 * time.Millisecond))
	p.awaitNews()
	by.Store(int64(3 * time.Second)) // longer than the timeout of a call
	for _, c := range []*collector.Collector{p.gateways[0], p.gateways[1], p.readers[0], p.readers[1]} {
		p.awaitOutput(c, "Redis fails; lists go on from memory")
		assert.Positive(t, failures(t, c, "timeout"))
	}
	now := p.total()
	for _, g := range p.gateways {
		collector.Await(t, func() bool { return g.Trending(t, "rule", "tenants", "window", "1h").Total > now },
			func() string { return "a gateway that waits for Redis" })
	}
	by.Store(0)
	p.awaitNews()
	p.redis.Command("CLIENT", "PAUSE", "3000")
	p.awaitNews()
	rest()
	p.await()
	watched()
}

// failures of a kind that a collector counted.
func failures(t testing.TB, c *collector.Collector, kind string) float64 {
	t.Helper()
	said := c.Telemetry(t)
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "otelcol_exporter_topk_redis_failures") && strings.Contains(line, `kind="`+kind+`"`) {
			return collector.Value(t, line, "")
		}
	}
	t.Fatalf("no failures of this kind: %s", said)
	return 0
}

func TestAWrongPasswordIsToldAndListsGoOnFromMemory(t *testing.T) {
	p := newPair(t, both)
	p.send()
	p.await()
	old := p.total()
	watched := p.watch()
	require.Equal(t, "OK", p.redis.Command("CONFIG", "SET", "requirepass", "right"))
	p.redis.Command("-a", "right", "CLIENT", "KILL", "TYPE", "normal")
	p.send()
	all := []*collector.Collector{p.gateways[0], p.gateways[1], p.readers[0], p.readers[1]}
	for _, c := range all {
		p.awaitOutput(c, "Redis fails; lists go on from memory")
		assert.Contains(t, c.Output(), "NOAUTH")
		assert.Positive(t, failures(t, c, "denied"))
	}
	for _, g := range p.gateways {
		g.AwaitTotal(t, p.total(), "rule", "tenants", "window", "1h")
	}
	for _, r := range p.readers {
		assert.Equal(t, old, r.Trending(t, "rule", "tenants", "window", "1h").Total)
	}
	wrong := collector.NewPorts()
	wrong.Share(t, "redis", p.readers[0].Ports, "redis")
	c := collector.Start(t, examples.Load(t, "examples/redis/reader.yaml", "exporters: {topk: {redis: {password: some-wrong-one}}}"), wrong)
	p.awaitOutput(c, "WRONGPASS")
	assert.NotContains(t, c.Output(), "some-wrong-one")
	status, body := c.Get(t, "/v1/trending?rule=tenants")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, `"as_of":null`)

	require.Equal(t, "OK", p.redis.Command("-a", "right", "CONFIG", "SET", "requirepass", ""))
	for _, c := range all {
		p.awaitOutput(c, "Redis is there again")
	}
	p.await()
	watched()
}

// The law of two writers, as the script keeps it in the real server: the larger total stays, unless its as_of is more than 15 s older.
func TestTheRealRedisKeepsTheLawOfTwoWriters(t *testing.T) {
	address := collector.NewPorts().Address(t, "redis")
	server := redis.Start(t, address)
	script := examples.Path(t, "exporter/topkexporter/internal/shared/put.lua")
	for _, step := range []struct{ writer, total, asOf, takes string }{
		{"a", "100", "100000", "1"},
		{"b", "099", "115000", "0"}, // smaller, and 15 s newer
		{"b", "099", "115001", "1"}, // more than that
		{"a", "100", "100000", "0"}, // larger, and more than 15 s older
		{"a", "100", "100001", "1"}, // 15 s older
		{"b", "100", "100001", "0"}, // the same
		{"b", "100", "100002", "1"}, // newer
		{"b", "001", "000001", "1"}, // its own
	} {
		said := server.Command("--eval", script, "list", "rank", "publication", "lists", "rules", "top", "top:rank", ",",
			step.total, step.asOf, step.writer, "60000", "member", "rule", "15000", "json of "+step.writer, "binary", "7", "key")
		require.Equal(t, step.takes, said, "%+v", step)
		if step.takes == "1" {
			assert.Equal(t, "json of "+step.writer, server.Command("GET", "top"))
			assert.Equal(t, "7", server.Command("ZSCORE", "top:rank", "key"))
		}
	}
	for _, key := range []string{"list", "rank", "publication", "lists", "rules", "top", "top:rank"} {
		assert.NotEqual(t, "-1", server.Command("TTL", key), "%s expires", key)
	}
	assert.Regexp(t, `^member\n\d{16}$`, server.Command("ZRANGE", "lists", "0", "-1", "WITHSCORES"), "microseconds, to the last")
}
