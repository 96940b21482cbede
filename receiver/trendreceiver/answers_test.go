package trendreceiver

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

// BenchmarkAnswers is a hundred shards that send to a gateway with a file storage, each on a connection of its own, in a time
// that goes twelve times as fast as theirs: each sends its open state every second, and its finals as minutes close, while lists
// are published and folded. A state has 640 residents and cells, of 10,000 events of Zipf 1.01 over a million keys.
func BenchmarkAnswers(b *testing.B) {
	const shards, speed = 100, 12
	g := newGateway(b, func(c *Config) { c.Storage, c.PublishInterval = &storageID, time.Second })
	g.host = &storedHost{extension: newDisk(b)}
	g.logs(newListPipeline())
	began := time.Now()
	g.trend().now = func() time.Time { return began.Add(speed * time.Since(began)) }
	g.start()

	summaries := zipfSummaries(b)
	var mu sync.Mutex
	var answers []time.Duration
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	rounds := make(chan struct{}, shards)
	for i := range shards {
		conn := g.connect()
		b.Cleanup(func() { require.NoError(b, conn.Close()) })
		client := plogotlp.NewGRPCClient(conn)
		s := typicalShard(b, uint16(i))
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / shards)
			for ctx.Err() == nil {
				next := time.Now().Add(time.Second)
				request := s.round(g.trend().now(), summaries)
				sent := time.Now()
				_, err := client.Export(ctx, plogotlp.NewExportRequestFromLogs(request))
				took := time.Since(sent)
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				answers = append(answers, took)
				mu.Unlock()
				select {
				case rounds <- struct{}{}:
				case <-ctx.Done():
				}
				time.Sleep(time.Until(next))
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		<-rounds
	}
	b.StopTimer()
	cancel()
	wg.Wait()
	slices.Sort(answers)
	for _, p := range []int{50, 99, 100} {
		b.ReportMetric(float64(answers[(len(answers)-1)*p/100])/1e6, fmt.Sprintf("ms/p%d", p))
	}
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
