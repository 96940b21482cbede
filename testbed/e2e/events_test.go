package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
)

func TestEventsThatWereAcceptedAreCountedExactly(t *testing.T) {
	t.Parallel()
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/events/config.yaml"), ports)
	r := rand.New(rand.NewPCG(5, 5))
	all, weighed := oracle.NewCounts(), oracle.NewCounts()
	groups := map[string]*oracle.Counts{"eu": oracle.NewCounts(), "us": oracle.NewCounts()}
	accepted, weight := uint64(0), uint64(0)
	for range 10 {
		var body bytes.Buffer
		bad := 0
		for range 500 {
			key, region, count := fmt.Sprintf("/path/%d?\u202e", int(40*r.Float64()*r.Float64())), []string{"eu", "us"}[r.IntN(2)], 1+r.Uint64N(9)
			switch r.IntN(20) {
			case 0:
				bad++
				fmt.Fprintf(&body, "{\"key\":%q,\"event_time\":\"soon\"}\n", key)
				continue
			case 1:
				bad++
				fmt.Fprintf(&body, "{\"key\":%q\n", key)
				continue
			}
			all.Add(key, 1)
			weighed.Add(key, count)
			groups[region].Add(key, 1)
			accepted++
			weight += count
			event, err := json.Marshal(map[string]any{"key": key, "region": region, "count": count, "event_time": time.Now().UnixMilli()})
			require.NoError(t, err)
			body.Write(append(event, '\n'))
		}
		response, err := http.Post("http://"+ports.Address(t, "events")+"/v1/events", "application/x-ndjson", &body)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusAccepted, response.StatusCode, "%s", text)
		require.Contains(t, string(text), fmt.Sprintf(`"rejected_total":%d`, bad))
	}
	for rule, counts := range map[string]*oracle.Counts{"keys": all, "keys_by_count": weighed} {
		total := map[string]uint64{"keys": accepted, "keys_by_count": weight}[rule]
		list := c.AwaitTotal(t, total, "rule", rule, "window", "1h", "k", "100")
		assert.Len(t, list.Items, len(counts.Weights))
		for _, it := range list.Items {
			assert.Equal(t, counts.Weights[it.Key], it.Estimate, "%s %q", rule, it.Key)
		}
	}
	for name, counts := range groups {
		for _, it := range c.Trending(t, "rule", "keys", "window", "1h", "k", "100", "group", name).Items {
			assert.Equal(t, counts.Weights[it.Key], it.Estimate, "%s %q", name, it.Key)
		}
	}
}
