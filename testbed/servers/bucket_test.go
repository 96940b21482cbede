package servers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/bucket"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// inBucket is the example with an archive, in a bucket.
const inBucket = `
exporters:
  parquet: {archive: %[1]q, segment: {max_age: 100ms}, retry: {initial_interval: 50ms, max_interval: 500ms}}
  topk: {recount: {archive: %[1]q, grace: 0s}}
`

// archive is a collector that archives into a bucket.
type bucketed struct {
	*collector.Collector
	hour  time.Time // of all records
	exact *oracle.Counts
	gen   *generator.Generator
}

func startBucketed(t *testing.T, url string) *bucketed {
	t.Helper()
	gen, err := generator.New(generator.Config{Seed: 1, Keys: 1000, Exponent: 1.01, Regions: 3})
	require.NoError(t, err)
	return &bucketed{
		Collector: collector.Start(t, examples.Load(t, "examples/archive/config.yaml", fmt.Sprintf(inBucket, url)), collector.NewPorts()),
		hour:      time.Now().Add(-3 * time.Hour).Truncate(time.Hour), exact: oracle.NewCounts(), gen: gen,
	}
}

// send requests, each of which must be answered.
func (b *bucketed) send(t *testing.T, requests int) {
	t.Helper()
	to := collector.NewSender(t, b.Ports.Address(t, "otlp"))
	for i := range requests {
		ld := b.gen.Logs(500, b.hour.Add(time.Duration(i%60)*time.Minute), func(r generator.Record) { b.exact.Add(r.Tenant, 1) })
		require.NoError(t, to.Logs(t.Context(), ld))
	}
}

// recount the hour.
func (b *bucketed) recount(t *testing.T) *oracle.Job {
	t.Helper()
	return b.Recount(t, collector.Asked{Rule: "tenants", From: collector.Moment(b.hour), To: collector.Moment(b.hour.Add(time.Hour)), K: 20})
}

func login(t *testing.T, secret string) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", bucket.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

func TestABucketHoldsTheArchiveAndItsTables(t *testing.T) {
	login(t, bucket.SecretKey)
	server := bucket.Start(t)
	server.Create(t, "archive")
	url := bucket.URL(server.Address, "archive")
	b := startBucketed(t, url)
	b.send(t, 4)
	store := archived.Open(t, url)
	archived.Await(t, store, "logs", int64(b.exact.Records))
	require.NoError(t, b.recount(t).Exactly(b.exact, 20))

	var list *oracle.List
	collector.Await(t, func() bool {
		list = b.Trending(t, "rule", "tenants", "at", collector.Moment(b.hour))
		return !list.Approximate
	}, func() string { return fmt.Sprintf("no exact list of the hour: %+v", list) })
	require.NoError(t, list.Law(b.exact, 10))
	require.NoError(t, list.Same(b.exact, 10))
	tables, err := store.List(t.Context(), "tables/hours/")
	require.NoError(t, err)
	assert.NotEmpty(t, tables)
}

func TestWrongCredentialsAreToldAndNothingIsLost(t *testing.T) {
	const wrong = "a-secret-that-is-wrong"
	login(t, wrong)
	server := bucket.Start(t)
	server.Create(t, "archive")
	url := bucket.URL(server.Address, "archive")
	b := startBucketed(t, url)
	b.send(t, 4)
	collector.Await(t, func() bool {
		return strings.Contains(b.Telemetry(t), `outcome="failed"`)
	}, func() string { return "no failed conversion: " + b.Output() })
	assert.Contains(t, b.Output(), "SignatureDoesNotMatch")
	assert.NotContains(t, b.Output(), wrong)
	job := b.recount(t)
	assert.Equal(t, "failed", job.Status)
	assert.Contains(t, job.Error, "SignatureDoesNotMatch")

	b.Stop(t)
	login(t, bucket.SecretKey)
	b.Collector = b.Again(t)
	b.AwaitReady(t)
	b.send(t, 1)
	archived.Await(t, archived.Open(t, url), "logs", int64(b.exact.Records))
	require.NoError(t, b.recount(t).Exactly(b.exact, 20))
}

func TestASlowAndFailingBucketLosesAndDoublesNothing(t *testing.T) {
	login(t, bucket.SecretKey)
	server := bucket.Start(t)
	server.Create(t, "archive")
	proxy := bucket.NewProxy(t, collector.NewPorts().Address(t, "proxy"), server.Address, 1)
	b := startBucketed(t, bucket.URL(proxy.Address, "archive"))
	proxy.Deal(bucket.Passed, bucket.Passed, bucket.Passed, bucket.Passed, bucket.Passed,
		bucket.Slow, bucket.Busy, bucket.CutAnswer, bucket.CutRequest, bucket.Lied)
	for range 20 {
		b.send(t, 2)
		<-time.After(100 * time.Millisecond) // one segment each
	}
	failed := 0
	for job := b.recount(t); job.Status != "done" && failed < 20; job = b.recount(t) {
		assert.NotEmpty(t, job.Error)
		failed++
	}
	archived.Await(t, archived.Open(t, bucket.URL(server.Address, "archive")), "logs", int64(b.exact.Records))
	proxy.Deal()
	require.NoError(t, b.recount(t).Exactly(b.exact, 20))
	t.Logf("of the requests %v; %d recounts failed", proxy.Counts(), failed)
}
