package faults

import (
	"bufio"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/bucket"
	"github.com/otel-topk/collector/testbed/collector"
)

// metric of this name and label; 0 where there is none.
func (m *member) metric(t *testing.T, name, label string) float64 {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(m.Telemetry(t))); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, name) && strings.Contains(line, label) {
			n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			require.NoError(t, err)
			return n
		}
	}
	return 0
}

// vanishings of a bucket, and how it comes back.
var vanishings = []struct {
	name       string
	gone, back func(t *testing.T, s *bucket.Server, folder string)
}{
	{
		"the server is down",
		func(_ *testing.T, s *bucket.Server, _ string) { s.Stop() },
		func(t *testing.T, s *bucket.Server, _ string) { s.Again(t) },
	},
	{
		"the bucket is gone",
		func(t *testing.T, _ *bucket.Server, folder string) {
			require.NoError(t, os.Rename(folder, folder+".away"))
		},
		func(t *testing.T, _ *bucket.Server, folder string) {
			require.NoError(t, os.Rename(folder+".away", folder))
		},
	},
}

func TestABucketThatVanishesAndReturnsLosesNothing(t *testing.T) {
	t.Parallel()
	for _, v := range vanishings {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			first := chosenSeed()
			t.Logf("seed %d", first)
			server := bucket.Start(t)
			folder := server.Create(t, "archive")
			url := bucket.URL(server.Address, "archive")
			m := startArchiver(t, newFolders(t, folders{}), url)
			b, r := newBook(), startReader(t, url)
			write(t, m, first, b, time.Second)
			require.NoError(t, r.holds(b))

			r.allow(true)
			v.gone(t, server, folder)
			write(t, m, first+10, b, 2*time.Second) // is answered all the same
			fallsBehind(t, m, nil)
			asked := collector.Asked{
				Rule: "keys", From: collector.Moment(time.Now().Add(-49 * time.Hour)), To: collector.Moment(time.Now().Add(-42 * time.Hour)),
			}
			job := m.Recount(t, asked)
			assert.Equal(t, "failed", job.Status)
			assert.NotContains(t, job.Error, "no file in the range", "nobody knows whether there is one")
			m.kill()
			m.start(t)
			v.back(t, server, folder)
			r.allow(false)
			require.NoError(t, r.holds(b))
			m.awaitHealth(t, http.StatusOK)
			job = m.Recount(t, asked)
			require.Equal(t, "done", job.Status, job.Error)
			assert.EqualValues(t, r.total(), job.Records)
		})
	}
}
