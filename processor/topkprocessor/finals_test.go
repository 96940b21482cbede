package topkprocessor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/processor/processortest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

const twoGateways = tenants + `
gateways:
  - endpoint: localhost:1
  - endpoint: localhost:2
`

func TestFinalsGoUntilEachGatewayAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, flaky := &fakeGateway{}, &fakeGateway{}
		flaky.down.Store(true)
		p := startLogsWith(t, processortest.NewNopSettings(metadata.Type), mustParse(t, twoGateways), connectEach(up, flaky), nil)
		defer stop(t, p)
		c := p.(*logs).counter
		for range 10 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
			time.Sleep(time.Minute)
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		assert.Equal(t, 10, up.finals())
		n, bytes := c.pending.Count(0)
		assert.Zero(t, n)
		assert.NotZero(t, bytes, "kept for the other")
		n, _ = c.pending.Count(1)
		assert.Equal(t, 10, n)
		assert.Zero(t, flaky.finals())

		flaky.down.Store(false)
		time.Sleep(uplink.MaxStretch)
		synctest.Wait()
		assert.Equal(t, 10, flaky.finals())
		n, bytes = c.pending.Count(1)
		assert.Zero(t, n)
		assert.Zero(t, bytes)
		assert.EqualValues(t, 20, flaky.merged("tenants").Total())
	})
}

func TestHangingGatewayDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, hanging := &fakeGateway{}, &fakeGateway{hang: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}}
		p := startLogsWith(t, processortest.NewNopSettings(metadata.Type), mustParse(t, twoGateways), connectEach(up, hanging), nil)
		time.Sleep(time.Second)
		for range 10 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		assert.Len(t, up.received(), 10)
		assert.Empty(t, hanging.received())

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		require.NoError(t, p.Shutdown(ctx))
		assert.LessOrEqual(t, time.Since(begin), time.Second, "bounded by its context")
		assert.Equal(t, 1, up.finals(), "delivered to the one that answers")
	})
}

func TestShutdownSendsOpenBucketsAsFinalsAndGivesUpOnADeadGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		gw.down.Store(true)
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		begin := time.Now()
		stop(t, p)
		assert.LessOrEqual(t, time.Since(begin), 2*time.Second, "no context ends it, yet it ends")
		assert.EqualValues(t, 1, p.(*logs).counter.pending.Dropped[0][uplink.DroppedShutdown].Of("tenants"))
	})
}

func TestGatewayThatComesBackWhileStoppingGetsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		gw := &fakeGateway{answer: func(received) error {
			if tries++; tries < 3 {
				return errDown
			}
			return nil
		}}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		stop(t, p)
		assert.Equal(t, 1, gw.finals())
		last := gw.received()[len(gw.received())-1]
		assert.True(t, last.report.Goodbye)
	})
}

func TestRefusedRequestIsHalvedUntilTheBadStateStandsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{answer: func(r received) error {
			for _, s := range r.states {
				if s.Group.Name == "bad" {
					return consumererror.NewPermanent(errors.New("a bad state"))
				}
			}
			return nil
		}}
		cfg := mustParse(t, tenants)
		cfg.Rules[0].GroupBy = `log.attributes["tenant"]`
		p := startLogs(t, cfg, gw, nil)
		c := p.(*logs).counter
		names := append(manyTenants(40), "bad")
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), names...)))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.EqualValues(t, 40, gw.merged("tenants").Total(), "all others came")
		assert.EqualValues(t, 1, c.senders[0].Stats.StatesRefused.Of("tenants"))
		assert.False(t, c.senders[0].Stats.Down.Load())
		sent := len(gw.received())
		time.Sleep(4 * time.Second)
		synctest.Wait()
		assert.Len(t, gw.received(), sent, "not tried again until it changes")

		stop(t, p)
		assert.Equal(t, 40, gw.finals())
		assert.EqualValues(t, 1, c.pending.Dropped[0][uplink.DroppedRefused].Of("tenants"))
		requests := gw.received()
		assert.EqualValues(t, 1, requests[len(requests)-1].report.Rules[0].Dropped)
		n, bytes := c.pending.Count(0)
		assert.Zero(t, n)
		assert.Zero(t, bytes)
	})
}

func TestGatewayThatRefusesEverythingLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := true
		gw := &fakeGateway{answer: func(received) error {
			if refuse {
				return consumererror.NewPermanent(status.Error(codes.Unauthenticated, "no token"))
			}
			return nil
		}}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		defer stop(t, p)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		n, _ := p.(*logs).counter.pending.Count(0)
		assert.Equal(t, 1, n)
		gw.mu.Lock()
		refuse = false
		gw.mu.Unlock()
		time.Sleep(uplink.MaxStretch)
		synctest.Wait()
		assert.Equal(t, 1, gw.finals())
	})
}

func TestOverloadedGatewayIsLeftAloneAsLongAsItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overloaded, err := status.New(codes.ResourceExhausted, "too many shards").WithDetails(
			&errdetails.RetryInfo{RetryDelay: durationpb.New(20 * time.Second)})
		require.NoError(t, err)
		start := time.Now()
		var tried []time.Duration
		gw := &fakeGateway{answer: func(r received) error {
			tried = append(tried, r.at.Sub(start))
			return overloaded.Err()
		}}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
		time.Sleep(45 * time.Second)
		synctest.Wait()
		assert.Equal(t, []time.Duration{2 * time.Second, 22 * time.Second, 42 * time.Second}, tried)
		stop(t, p)
	})
}

func TestGatewayThatLostItsMemoryGetsAllOpenStatesAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{}
		p := startLogs(t, mustParse(t, byRegion), gw, nil)
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(time.Now(), 1, regions(0, 5)...)))
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, gw.states, 5)
		gw.down.Store(true)
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(time.Now(), 1, "r00")))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		gw.down.Store(false)
		gw.forget()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		assert.Len(t, gw.states, 5, "before they would be due again")
		sent := len(gw.received())
		time.Sleep(6 * time.Second)
		synctest.Wait()
		assert.Len(t, gw.received(), sent)
		stop(t, p)
	})
}
