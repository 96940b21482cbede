package servers_test

import (
	"context"
	"html"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

// render opens a page in a browser, lets its scripts run for five seconds of their time, and returns what became of it.
func render(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", url).Output()
	require.NoError(t, err)
	return string(dom)
}

func TestThePageShowsTheList(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/quickstart/config.yaml"), ports)
	send(t, ports, "first-tenant", "first-tenant", "second-tenant")
	c.AwaitTotal(t, 3)
	page := render(t, "http://"+ports.Address(t, "api")+"/")
	assert.Contains(t, page, "first-tenant")
	assert.Contains(t, page, "second-tenant")
	assert.Contains(t, page, ">1h: 1  24h: 1<", "ranks in longer windows")
	assert.Contains(t, page, `id="recount-card" hidden`, "nothing is archived")
}

func TestThePageOffersExactCountsWhereRecordsAreArchived(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/archive/config.yaml"), ports)
	send(t, ports, "first-tenant")
	c.AwaitTotal(t, 1, "rule", "tenants", "window", "5m")
	page := render(t, "http://"+ports.Address(t, "api")+"/")
	assert.Contains(t, page, `id="recount-card">`, "it is not hidden")
	assert.Regexp(t, `<option value="20\d\d-[^"]*:00:00.000Z">20\d\d-\d\d-\d\d \d\d:00 to \d\d:00 UTC</option>`, page)
}

func TestKeysDoNotRunOnThePage(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/quickstart/config.yaml"), ports)
	send(t, ports, names[len(names)-10:]...)
	c.AwaitTotal(t, 10)
	page := render(t, "http://"+ports.Address(t, "api")+"/")
	assert.Contains(t, page, html.EscapeString("<img src=x onerror="), "the text of the key")
	assert.NotContains(t, page, `<img src="x"`, "an element made of the key")
	assert.NotContains(t, page, "<title>owned", "a script ran")
}
