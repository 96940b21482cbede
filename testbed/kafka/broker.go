// Package kafka runs a real Kafka broker, alone and in KRaft mode, for tests. tools/kafka.sh fetches it.
package kafka

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/otel-topk/collector/testbed/collector"
)

// Broker is one process. What it holds is in its folder, and outlasts it.
type Broker struct {
	testing.TB
	Address string
	folder  string
	config  string
	log     *os.File
	cmd     *exec.Cmd
}

const properties = `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=%[3]s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
`

// Start a broker at an address of this machine that is free.
func Start(t testing.TB, address string) *Broker {
	t.Helper()
	ports := collector.NewPorts()
	b := &Broker{TB: t, Address: address, folder: t.TempDir()}
	b.config = filepath.Join(b.folder, "server.properties")
	text := fmt.Sprintf(properties, address, ports.Address(t, "controller"), filepath.Join(b.folder, "data"))
	require.NoError(t, os.WriteFile(b.config, []byte(strings.TrimSpace(text)), 0o600))
	var err error
	b.log, err = os.Create(filepath.Join(b.folder, "broker.log"))
	require.NoError(t, err)
	said, err := b.java("kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", b.config).CombinedOutput()
	require.NoError(t, err, "%s", said)
	b.Begin()
	t.Cleanup(func() {
		b.Kill()
		_ = b.log.Close()
	})
	return b
}

func (b *Broker) java(class string, args ...string) *exec.Cmd {
	jars := filepath.Join(filepath.Dir(collector.Binary(b, "otelcol-topk")), "..", "_build", "kafka", "jars", "*")
	// A process of a few minutes is compiled for longer than it runs, but by the quick compiler.
	return exec.Command("java", append([]string{"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars, class}, args...)...)
}

// Begin runs the broker, again if it was killed, and waits until it answers.
func (b *Broker) Begin() {
	b.Helper()
	b.cmd = b.java("kafka.Kafka", b.config)
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	require.NoError(b, b.cmd.Start(), "make test-servers fetches it by tools/kafka.sh")
	collector.AwaitFor(b, time.Minute, func() bool {
		conn, err := net.DialTimeout("tcp", b.Address, time.Second)
		if err == nil {
			_ = conn.Close()
			_, err = b.ask(kmsg.NewPtrMetadataRequest())
		}
		return err == nil
	}, func() string {
		text, _ := os.ReadFile(b.log.Name())
		return "the broker does not answer:\n" + string(text)
	})
}

// Kill the process, as kill -9 does.
func (b *Broker) Kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// CPU time that the process used, once it was killed.
func (b *Broker) CPU() time.Duration {
	return b.cmd.ProcessState.UserTime() + b.cmd.ProcessState.SystemTime()
}

func (b *Broker) ask(request kmsg.Request) (kmsg.Response, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Address))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return client.Request(ctx, request)
}

// CreateTopic of some partitions.
func (b *Broker) CreateTopic(name string, partitions int32) {
	b.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics, request.TimeoutMillis = append(request.Topics, topic), 5000
	answer, err := b.ask(request)
	require.NoError(b, err)
	require.NoError(b, kerr.ErrorForCode(answer.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode))
}
