package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// startLate is a collector with a load of three hours in its archive, some time ago.
func startLate(t *testing.T, args ...string) (a *archiving, l *load, start time.Time) {
	t.Helper()
	a, l, start = startArchiving(t, "wall", loadRules, args...), new(load), time.Now().Add(-30*time.Hour).Truncate(time.Hour)
	n := l.late(t, generator.Config{Seed: 2, Keys: 500, Exponent: 1.01, Regions: 3}, start, 3, 20, a.into[0])
	archived.Await(t, a.store, "logs", n)
	return a, l, start
}

// L4: of a hundred recounts at once a bounded number runs, some wait, the rest are told to come again; all that were taken are right.
func TestAHundredRecountsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	a, l, start := startLate(t, "--config", "yaml:exporters::topk::recount: {max_jobs: 2, max_waiting: 30}")
	exact := l.tenants.Window(start, start.Add(3*time.Hour-1), oracle.Global)
	asked := collector.Asked{Rule: "tenants", From: collector.Moment(start), To: collector.Moment(start.Add(3 * time.Hour)), K: 20}
	type answer struct {
		status int
		body   string
	}
	answers := make(chan answer)
	for range 100 {
		go func() {
			status, body := a.answers.Post(t, asked)
			answers <- answer{status, body}
		}()
	}
	var taken []string
	refused := 0
	for range 100 {
		got := <-answers
		if got.status == http.StatusTooManyRequests {
			refused++
			continue
		}
		var job struct {
			JobID string `json:"job_id"`
		}
		assert.Equal(t, http.StatusAccepted, got.status, got.body)
		assert.NoError(t, json.Unmarshal([]byte(got.body), &job))
		taken = append(taken, job.JobID)
	}
	assert.Positive(t, refused)
	assert.GreaterOrEqual(t, len(taken), 32)
	for _, id := range taken {
		require.NoError(t, a.answers.AwaitJob(t, id).Exactly(exact, 20))
	}
	status, body := a.answers.Get(t, "/v1/status")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, `"running":0,"waiting":0`)
}

// M10: an hour that is not closed, and the future.
func TestAnHourThatIsNotClosedIsNotRecounted(t *testing.T) {
	t.Parallel()
	a, _, _ := startLate(t, "--config", "yaml:exporters::topk::recount::grace: 15m")
	now := time.Now()
	status, body := a.answers.Post(t, collector.Asked{Rule: "tenants", From: collector.Moment(now.Add(-2 * time.Hour)), To: collector.Moment(now)})
	assert.Equal(t, http.StatusConflict, status, body)
	assert.Contains(t, body, "not closed")
	status, body = a.answers.Post(t, collector.Asked{Rule: "tenants", From: collector.Moment(now.Add(time.Hour)), To: collector.Moment(now.Add(2 * time.Hour))})
	assert.Equal(t, http.StatusBadRequest, status, body)
	assert.Contains(t, body, "future")
}

// The same without a collector: `topk recount` on the same archive and the same rules.
func TestTheCommandLineToolCountsTheSame(t *testing.T) {
	t.Parallel()
	a, l, start := startLate(t)
	for _, rule := range []string{"tenants", "bytes", "failing"} {
		exact := l.tally(rule).Window(start, start.Add(3*time.Hour-1), oracle.Global)
		said, err := exec.CommandContext(t.Context(), collector.Binary(t, "topk"), "recount", "--archive", a.url(), "--rules", a.rules, "--rule", rule,
			"--from", collector.Moment(start), "--to", collector.Moment(start.Add(3*time.Hour)), "--scope", "global", "--k", "100", "--output", "json").Output()
		require.NoError(t, err, "%s", said)
		var answer struct {
			Results []struct {
				Total, Records uint64
				Distinct       int
				Items          []oracle.Exact
			}
		}
		require.NoError(t, json.Unmarshal(said, &answer), "%s", said)
		require.Len(t, answer.Results, 1)
		r := answer.Results[0]
		job := oracle.Job{Status: "done", Total: r.Total, Records: r.Records, Distinct: r.Distinct, Results: r.Items}
		require.NoError(t, job.Exactly(exact, 100), rule)
	}
	empty := exec.CommandContext(t.Context(), collector.Binary(t, "topk"), "recount", "--archive", a.url(), "--rules", a.rules, "--rule", "tenants",
		"--from", "2020-01-01T00:00:00Z", "--to", "2020-01-02T00:00:00Z")
	require.Error(t, empty.Run())
	assert.Equal(t, 3, empty.ProcessState.ExitCode(), "no archive in the range")
}
