package topkprocessor

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// A gateway with a full disk counts what comes and does not answer for it: it is told all, however many requests that takes, and
// once more when it stores again.
func TestGatewayThatCannotStoreIsToldEverything(t *testing.T) {
	for _, clock := range []string{"wall", "event"} {
		t.Run(clock, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gw := &fakeGateway{}
				notStored, err := status.New(codes.Unavailable, "full").WithDetails(
					&errdetails.RetryInfo{RetryDelay: durationpb.New(10 * time.Second)}, &errdetails.ErrorInfo{Domain: wire.Domain, Reason: wire.NotStored})
				require.NoError(t, err)
				full, told, requests := false, map[window.Minute]bool{}, 0
				gw.answer = func(r received) error {
					if !full {
						return nil
					}
					requests++
					for _, s := range r.states {
						told[s.Minute] = true
					}
					return notStored.Err()
				}
				p := startLogs(t, mustParse(t, tenants+"clock: "+clock+"\n"), gw, nil)
				defer stop(t, p)
				pending := p.(*logs).counter.pending

				full = true
				const minutes = 20
				names := make([]string, 500)
				for minute := range minutes {
					for i := range names {
						names[i] = fmt.Sprintf("%d-%d-%s", minute, i, strings.Repeat("x", 230))
					}
					require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), names...)))
					time.Sleep(time.Minute)
				}
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				gw.mu.Lock()
				assert.Len(t, told, minutes, "every minute is told")
				assert.Less(t, requests, 400, "and not all of them every time")
				full = false
				gw.mu.Unlock()
				n, _ := pending.Count(0)
				assert.GreaterOrEqual(t, n, minutes-3, "none that closed is answered")

				time.Sleep(time.Minute)
				synctest.Wait()
				n, _ = pending.Count(0)
				assert.Zero(t, n)
				assert.EqualValues(t, minutes*len(names), gw.merged("tenants").Total())
			})
		})
	}
}
