package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
)

// archived waits until the archive holds so many records.
func (s *scenario) archived(t *testing.T, signal string, records int) string {
	archived.Await(t, s.archive.store, signal, int64(records))
	return fmt.Sprintf("%d archived", records)
}

// recount shows what a recount answers: a line of what it says of the whole, and one of each item.
func (s *scenario) recount(t *testing.T, line string) string {
	var asked collector.Asked
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&asked), line)
	status, body := s.answers.Post(t, asked)
	if status != http.StatusAccepted {
		return fmt.Sprintf("%d %s", status, strings.TrimSuffix(body, "\n"))
	}
	var accepted struct {
		JobID string `json:"job_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &accepted))
	job := s.answers.AwaitJob(t, accepted.JobID)
	if job.Status != "done" {
		return fmt.Sprintf("%s: %s", job.Status, strings.ReplaceAll(job.Error, s.archive.folder, "<folder>"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", job.Rule, job.Scope)
	if job.Scope == "group" {
		fmt.Fprintf(&b, " %q", job.Group)
	}
	fmt.Fprintf(&b, ": total %d of %d records", job.Total, job.Records)
	if asked.Keys == nil {
		fmt.Fprintf(&b, ", %d keys", job.Distinct)
	}
	for _, hour := range job.MissingHours {
		fmt.Fprintf(&b, ", nothing of %s", hour)
	}
	for _, item := range job.Results {
		if asked.Keys == nil {
			fmt.Fprintf(&b, "\n  %d. %q %d", item.Rank, item.Key, item.Count)
		} else {
			fmt.Fprintf(&b, "\n  %q %d", item.Key, item.Count)
		}
	}
	return b.String()
}
