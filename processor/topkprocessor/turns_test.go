package topkprocessor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestFinalStatesGoBetweenOpenOnes(t *testing.T) {
	for name, gw := range map[string]*fakeGateway{
		"a gateway slower than emissions come": {hang: func(context.Context) error {
			time.Sleep(4900 * time.Millisecond)
			return nil
		}},
		"a gateway without room for open states": {answer: func(r received) error {
			for _, s := range r.states {
				if !s.Final {
					return status.Error(codes.ResourceExhausted, "overloaded")
				}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gw.newestOnly = true
				p := startLogs(t, mustParse(t, tenants), gw, nil)
				for range 20 * 60 {
					require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
					time.Sleep(time.Second)
				}
				assert.GreaterOrEqual(t, gw.finals(), 16)
				stop(t, p)
			})
		})
	}
}

func TestFinalStatesThatAreRefusedForNowDoNotHoldUpOpenOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gw := &fakeGateway{answer: func(r received) error {
			for _, s := range r.states {
				if s.Final {
					return status.Error(codes.ResourceExhausted, "overloaded")
				}
			}
			return nil
		}}
		p := startLogs(t, mustParse(t, tenants), gw, nil)
		for range 20 * 60 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a")))
			time.Sleep(time.Second)
		}
		assert.Greater(t, gw.merged("tenants").Total(), uint64(19*60))
		stop(t, p)
	})
}
