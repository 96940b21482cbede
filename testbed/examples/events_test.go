package examples_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

func TestEventsArePostedAndListedAsTheReadmeShows(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/events/config.yaml"), ports)
	page := "receiver/eventsreceiver/README.md"
	command := strings.ReplaceAll(snippets(t, page, "sh")[0], "localhost:7073", ports.Address(t, "events"))
	command = strings.ReplaceAll(command, `"event_time": "2026-01-02T15:04:05Z", `, "") // long past
	said, err := exec.Command("bash", "-c", command).Output()
	require.NoError(t, err)
	assert.JSONEq(t, snippets(t, page, "json")[0], string(said))

	gzipped := `printf '{"key":"/cart","region":"eu-west-1"}\n{"key":"/cart"}' | gzip | curl -s --data-binary @- -H 'Content-Encoding: gzip' ` +
		`-H 'Content-Type: application/x-ndjson' ` + ports.Address(t, "events") + "/v1/events"
	said, err = exec.Command("bash", "-c", gzipped).Output()
	require.NoError(t, err)
	assert.JSONEq(t, `{"accepted":2,"rejected":[],"rejected_total":0}`, string(said))

	list := c.AwaitTotal(t, 4, "rule", "keys", "window", "5m")
	assert.Equal(t, "/cart", list.Items[0].Key)
	assert.EqualValues(t, 3, list.Items[0].Estimate)
	assert.EqualValues(t, 2, c.Trending(t, "rule", "keys", "group", "eu-west-1").Total)
	assert.EqualValues(t, 2, c.AwaitTotal(t, 2, "rule", "keys_by_count").Items[0].Estimate)
}
