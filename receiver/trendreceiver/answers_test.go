//go:build !race

package trendreceiver

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// BenchmarkAnswers is how long a hundred shards wait for their answers.
func BenchmarkAnswers(b *testing.B) {
	took, _ := answers(b, b.N)
	for _, p := range []int{50, 99, 100} {
		b.ReportMetric(float64(percentile(took, p))/1e6, fmt.Sprintf("ms/p%d", p))
	}
}

// TestAHundredShardsAreAnsweredInTime speaks of the half of the answers, and leaves it as much longer as the machine, on which other
// tests run, takes for a call that does nothing. BenchmarkAnswers measures the slowest.
func TestAHundredShardsAreAnsweredInTime(t *testing.T) {
	took, nothing := answers(t, 500)
	t.Log("median", percentile(took, 50), "99 %", percentile(took, 99), "of calls that do nothing", percentile(nothing, 50), percentile(nothing, 99))
	assert.Less(t, percentile(took, 50), 100*time.Millisecond+20*percentile(nothing, 50))
}

func percentile(sorted []time.Duration, p int) time.Duration { return sorted[(len(sorted)-1)*p/100] }

// answers are the times, sorted, that at least n requests took, of a hundred shards that send to a gateway with a file storage,
// each on a connection of its own, in a time that goes twelve times as fast as theirs: each sends its open state every second,
// and its final ones as minutes close, while lists are published and minutes folded. A state has 640 residents and cells, of
// 10,000 events of Zipf 1.01 over a million keys.
// Beside each, a call of a service that is not there takes as long as nothing does.
func answers(t testing.TB, n int) (took, nothing []time.Duration) {
	const shards, speed = 100, 12
	g := newGateway(t, func(c *Config) { c.Storage, c.PublishInterval = &storageID, time.Second })
	g.host = &storedHost{extension: newDisk(t)}
	g.logs(newWall(t))
	began := time.Now()
	g.trend().now = func() time.Time { return began.Add(speed * time.Since(began)) }
	g.start()

	summaries := zipfSummaries(t)
	var mu sync.Mutex
	enough := make(chan struct{})
	var sending sync.WaitGroup
	for i := range shards {
		conn := g.connect()
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		client, none := plogotlp.NewGRPCClient(conn), ptraceotlp.NewGRPCClient(conn)
		s := typicalShard(t, uint16(i))
		sending.Go(func() {
			rest := time.NewTimer(time.Duration(i) * time.Second / shards)
			defer rest.Stop()
			for {
				select {
				case <-enough:
					return
				case <-rest.C:
				}
				rest.Reset(time.Second)
				request := plogotlp.NewExportRequestFromLogs(s.round(g.trend().now(), summaries))
				sent := time.Now()
				_, err := client.Export(t.Context(), request)
				answered := time.Now()
				assert.NoError(t, err)
				_, err = none.Export(t.Context(), ptraceotlp.NewExportRequest())
				assert.Equal(t, codes.Unimplemented, status.Code(err))
				mu.Lock()
				nothing = append(nothing, time.Since(answered))
				if took = append(took, answered.Sub(sent)); len(took) == n {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	slices.Sort(took)
	slices.Sort(nothing)
	return took, nothing
}

// typical is a shard of a rule of the default accuracy.
type typical struct {
	*shard
	minute time.Time // that is open
	opened int
}

func typicalShard(t testing.TB, n uint16) *typical {
	s := newShard(t, 1)
	binary.BigEndian.PutUint16(s.epoch[1:], n)
	s.rule.K, s.rule.Residents = 100, 640
	s.rule.Shape = topk.Shape{Width: 2719, Depth: 5}
	return &typical{shard: s}
}

// round is what the shard sends at now: its open state, and the minute before as final where a new one began.
func (s *typical) round(now time.Time, summaries [][]byte) plog.Logs {
	var states []*wire.State
	if minute := now.Truncate(time.Minute); minute != s.minute {
		if !s.minute.IsZero() {
			final := s.encoded(s.minute, summaries)
			final.Final = true
			states = append(states, final)
		}
		s.minute, s.opened = minute, s.opened+1
	}
	return s.request(append(states, s.encoded(now, summaries))...)
}

func (s *typical) encoded(now time.Time, summaries [][]byte) *wire.State {
	st := s.state(now, rule.Group{}, nil)
	st.Summary, st.Encoded = nil, summaries[(s.opened+int(s.epoch[2]))%len(summaries)]
	return st
}

func zipfSummaries(t testing.TB) (encoded [][]byte) {
	d := typicalShard(t, 0).rule
	for seed := range uint64(8) {
		s, err := topk.New(d.Residents, d.Shape)
		require.NoError(t, err)
		zipf := rand.NewZipf(rand.New(rand.NewPCG(seed, 1)), 1.01, 1, 1e6)
		for range 10_000 {
			require.NoError(t, s.Add(fmt.Sprintf("tenant-%08x", zipf.Uint64()*2654435761), 1))
		}
		b, err := s.AppendBinary(nil)
		require.NoError(t, err)
		encoded = append(encoded, b)
	}
	return encoded
}
