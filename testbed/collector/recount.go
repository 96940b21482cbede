package collector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/oracle"
)

// Asked is the body of a call that starts a recount.
type Asked struct {
	Rule   string   `json:"rule"`
	From   string   `json:"from"`
	To     string   `json:"to"`
	Keys   []string `json:"keys,omitempty"`
	Group  string   `json:"group,omitempty"`
	Scope  string   `json:"scope,omitempty"`
	K      int      `json:"k,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Moment is a time as the API reads it.
func Moment(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// Post asks the API to start a recount, and returns the status and the body.
func (c *Collector) Post(t testing.TB, asked Asked) (int, string) {
	t.Helper()
	body, err := json.Marshal(asked)
	require.NoError(t, err)
	response, err := http.Post("http://"+c.Ports.Address(t, "api")+"/v1/recounts", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// Begin a recount that is accepted, and return the id of its job.
func (c *Collector) Begin(t testing.TB, asked Asked) string {
	t.Helper()
	status, body := c.Post(t, asked)
	require.Equal(t, http.StatusAccepted, status, "%+v: %s", asked, body)
	var accepted struct {
		JobID string `json:"job_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &accepted), body)
	return accepted.JobID
}

// Job as it stands.
func (c *Collector) Job(t testing.TB, id string) *oracle.Job {
	t.Helper()
	job := new(oracle.Job)
	c.decode(t, "/v1/recounts/"+id, job)
	return job
}

// AwaitJob waits until a job has ended.
func (c *Collector) AwaitJob(t testing.TB, id string) *oracle.Job {
	t.Helper()
	var job *oracle.Job
	AwaitFor(t, time.Minute, func() bool {
		job = c.Job(t, id)
		return job.Ended()
	}, func() string { return fmt.Sprintf("a job that has not ended: %+v", job) })
	return job
}

// Recount and wait for what comes out.
func (c *Collector) Recount(t testing.TB, asked Asked) *oracle.Job {
	t.Helper()
	return c.AwaitJob(t, c.Begin(t, asked))
}

// Audits of a rule's hours, the newest first, at most a thousand.
func (c *Collector) Audits(t testing.TB, rule string) []oracle.Audit {
	t.Helper()
	var answer struct{ Audits []oracle.Audit }
	c.decode(t, "/v1/audits?"+encode([]string{"rule", rule, "window", "1h", "limit", "1000"}), &answer)
	return answer.Audits
}
