package examples_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/dataset"
	"github.com/otel-topk/collector/testbed/examples"
	"github.com/otel-topk/collector/testbed/oracle"
)

// accessLog of a web server that makes its own, over three days of years ago.
func accessLog() string {
	var b strings.Builder
	begin := time.Date(2019, 3, 4, 22, 10, 0, 0, time.UTC)
	for i := range 3000 {
		at := begin.Add(time.Duration(i) * 80 * time.Second).Format("02/Jan/2006:15:04:05 -0700")
		size := fmt.Sprint(i % 700)
		if i%9 == 0 {
			size = "-"
		}
		fmt.Fprintf(&b, "10.0.0.%d - - [%s] \"GET /p%d?q=%d HTTP/1.1\" %d %s \"-\" \"a \\\"quoted\\\" agent\"\n", i%(7+i%40), at, i%31, i, 200+i%3*102, size)
	}
	return b.String()
}

// realLog is that of the data beside the repository, if it is there.
func realLog(t *testing.T) (string, bool) {
	t.Helper()
	dir, ok := dataset.Find(examples.Path(t, "."))
	if !ok {
		return "", false
	}
	packed, err := os.ReadFile(filepath.Join(dir, "web-elastic-apache", "access.log.zst"))
	require.NoError(t, err)
	r, err := zstd.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text), true
}

// requests in closed hours, by client, by path, and the bytes of each client; and the hours of the first and of the newest.
func requests(t *testing.T, log string) (clients, paths, sizes *oracle.Counts, from, to time.Time) {
	t.Helper()
	line := regexp.MustCompile(`^(\S+) \S+ \S+ \[([^\]]+)\] "\S+ ([^ ?"]*).*?" (\d{3}) (\S+) "`)
	clients, paths, sizes = oracle.NewCounts(), oracle.NewCounts(), oracle.NewCounts()
	hourOf := func(m []string) time.Time {
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[2])
		require.NoError(t, err)
		return at.UTC().Truncate(time.Hour)
	}
	var matches [][]string
	for text := range strings.Lines(log) {
		m := line.FindStringSubmatch(text)
		require.NotNil(t, m, text)
		matches = append(matches, m)
		hour := hourOf(m)
		if from.IsZero() || hour.Before(from) {
			from = hour
		}
		if hour.After(to) {
			to = hour
		}
	}
	for _, m := range matches {
		if hourOf(m).Equal(to) {
			continue
		}
		clients.Add(m[1], 1)
		paths.Add(m[3], 1)
		if n, err := strconv.ParseUint(m[5], 10, 64); err == nil {
			sizes.Add(m[1], n)
		}
	}
	return clients, paths, sizes, from, to
}

func TestALogFileOfSomeDaysIsCounted(t *testing.T) {
	logs := map[string]string{"made": accessLog()}
	if log, ok := realLog(t); ok {
		logs["real"] = log
	}
	for name, log := range logs {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "access.log")
			require.NoError(t, os.WriteFile(file, []byte(log), 0o600))
			t.Setenv("LOG_FILE", file)
			c := collector.Start(t, examples.Load(t, "examples/file/config.yaml", "receivers: {file_log: {poll_interval: 50ms}}"), collector.NewPorts())
			clients, paths, sizes, from, to := requests(t, log)
			span := []string{"from", from.Format(time.RFC3339), "to", to.Format(time.RFC3339), "k", "10", "rule"}
			complete := func() {
				for rule, exact := range map[string]*oracle.Counts{"clients": clients, "paths": paths, "bytes": sizes} {
					var list *oracle.List
					collector.AwaitFor(t, 90*time.Second, func() bool { // hours that changed are published once a minute
						list = c.Find(t, append(span, rule)...)
						return list != nil && list.Total == exact.Total
					}, func() string { return fmt.Sprintf("no list of %s of %d: %+v", rule, exact.Total, list) })
					assert.NoError(t, list.Same(exact, 10))
				}
			}
			complete()

			c.Stop(t)
			c = c.Again(t)
			c.AwaitReady(t)
			complete()
			day := c.Trending(t, "rule", "clients", "window", "24h")
			next := to.Add(59 * time.Minute).Format("02/Jan/2006:15:04:05 -0700")
			more, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = fmt.Fprintf(more, "new - - [%s] \"GET / HTTP/1.1\" 200 7 \"-\" \"-\"\n", next)
			require.NoError(t, err)
			require.NoError(t, more.Close())
			collector.Await(t, func() bool {
				return c.Trending(t, "rule", "clients", "window", "1h").AsOf.After(*day.AsOf)
			}, func() string { return "no new line" })
			assert.EqualValues(t, 1, c.Count(t, "new", "rule", "clients", "window", "24h").Estimate)
			complete()
		})
	}
}
