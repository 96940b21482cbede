package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/archived"
	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

// archivingTo a place, and quickly.
const archivingTo = "exporters: {parquet: {archive: %[1]q, segment: {max_age: 100ms}}, topk: {recount: {archive: %[1]q}}}"

// startArchive is the example with an archive, which holds records of an hour that is closed.
func startArchive(t *testing.T) (c *collector.Collector, hour time.Time, exact *oracle.Counts) {
	t.Helper()
	url := "file://" + t.TempDir()
	c = collector.Start(t, examples.Load(t, "examples/archive/config.yaml", fmt.Sprintf(archivingTo, url)), collector.NewPorts())
	hour, exact = time.Now().Add(-3*time.Hour).Truncate(time.Hour), oracle.NewCounts()
	to := collector.NewSender(t, c.Ports.Address(t, "otlp"))
	gen := newGenerator(t)
	for i := range 4 {
		ld := gen.Logs(perRequest, hour.Add(time.Duration(i)*time.Minute), func(r generator.Record) { exact.Add(r.Tenant, 1) })
		require.NoError(t, to.Logs(t.Context(), ld))
	}
	require.NoError(t, to.Traces(t.Context(), gen.Traces(perRequest, hour, nil)))
	archived.Await(t, archived.Open(t, url), "logs", 4*perRequest)
	return c, hour, exact
}

func TestTheExamplesArchiveIsWhereTheEnvironmentSaysOrInVar(t *testing.T) {
	for environment, want := range map[string]string{"": "file:///var/lib/otelcol/archive", "TOPK_ARCHIVE=s3://records": "s3://records"} {
		cmd := exec.Command(collector.Binary(t, "otelcol-topk"), "print-config", "--config", "examples/archive/config.yaml")
		cmd.Dir = examples.Path(t, ".")
		cmd.Env = []string{environment} // and no PWD, as a service
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, string(said))
		assert.Equal(t, 2, strings.Count(string(said), "archive: "+want+"\n"), string(said))
	}
	command := regexp.MustCompile(`(?m)^bin/topk recount --archive (\S+)`)
	for _, page := range []string{"README.md", "docs/exact.md"} {
		found := command.FindStringSubmatch(strings.Join(snippets(t, page, "sh"), ""))
		require.NotNil(t, found, page)
		assert.Contains(t, examples.Read(t, page), "TOPK_ARCHIVE="+found[1], page)
	}
}

func TestTheRecountOfThePagesAnswersAsItShows(t *testing.T) {
	c, hour, exact := startArchive(t)
	for _, page := range []string{"README.md", "docs/exact.md"} {
		text := strings.Join(snippets(t, page, "sh"), "")
		calls := regexp.MustCompile(`(?m)^curl -H 'Content-Type: application/json' -d '(.*)' localhost:7070/v1/recounts$`).FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, calls, page)
		require.Contains(t, text, "\ncurl localhost:7070/v1/recounts/JOB_ID\n")
		for _, call := range calls {
			var asked collector.Asked
			d := json.NewDecoder(strings.NewReader(call[1]))
			d.DisallowUnknownFields()
			require.NoError(t, d.Decode(&asked), call[1])
			asked.From, asked.To = collector.Moment(hour), collector.Moment(hour.Add(time.Hour)) // the page's are of its day
			job := c.Recount(t, asked)
			if asked.Keys == nil {
				require.NoError(t, job.Exactly(exact, asked.K))
			} else {
				require.Len(t, job.Results, len(asked.Keys), job.Error)
				assert.Equal(t, exact.Weights[asked.Keys[0]], job.Results[0].Count)
			}
			status, body := c.Get(t, "/v1/recounts/"+job.ID)
			require.Equal(t, http.StatusOK, status)
			for _, shown := range snippets(t, page, "json") {
				if strings.Contains(shown, `"job_id"`) {
					var want, got any
					require.NoError(t, json.Unmarshal([]byte(shown), &want), shown)
					require.NoError(t, json.Unmarshal([]byte(body), &got), body)
					sameFields(t, "", want, got)
				}
			}
		}
	}
}
