package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/oracle"
)

// TestScenarios runs the files of testdata, all on the event clock. Their commands:
//
//	start [signal=logs|traces|metrics]   a collector with these rules, which answers too
//	archive                              a collector that archives and recounts, too
//	gateway                              a collector that answers for shards
//	shard [signal=logs|traces|metrics]   one of these, with these rules
//	logs, spans, points [shard=i]        send these records (record_test.go), to the i-th shard
//	archived [signal=…] records=n        wait until so many lie in the archive
//	recount                              what comes out of these calls of /v1/recounts
//	list                                 what /v1/trending answers to these queries
//	count                                what /v1/count answers
//	get                                  the status and body of these paths
//	telemetry [shard=i]                  what the i-th shard says of itself under these names of metrics
//
// An answer is asked for until it is the expected one. Run with -rewrite to write the answers down anew.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Parallel() // most of the time is waiting
		s := new(scenario)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

type scenario struct {
	*deployment
	archive *archiving
}

func (s *scenario) run(t *testing.T, d *datadriven.TestData) string {
	shard, records, signal := 0, 0, "logs"
	d.MaybeScanArgs(t, "shard", &shard)
	d.MaybeScanArgs(t, "records", &records)
	d.MaybeScanArgs(t, "signal", &signal)
	switch d.Cmd {
	case "start":
		s.deployment = startSingle(t, "event", signal, indented(d.Input))
		return "ready"
	case "archive":
		s.archive = startArchiving(t, "event", indented(d.Input))
		s.deployment = s.archive.deployment
		return "ready"
	case "archived":
		return s.archived(t, signal, records)
	case "recount":
		return await(d, func(line string) string { return s.recount(t, line) })
	case "gateway":
		s.deployment = startGateway(t, "event")
		return "ready"
	case "shard":
		s.addShard(t, "event", signal, indented(d.Input))
		return "ready"
	case "logs", "spans", "points":
		return s.send(t, d, s.into[shard])
	case "list":
		return await(d, func(line string) string { return s.list(t, line) })
	case "count":
		return await(d, func(line string) string { return s.count(t, line) })
	case "get":
		return await(d, func(line string) string {
			status, body := s.answers.Get(t, line)
			return fmt.Sprintf("%d %s", status, strings.TrimSuffix(body, "\n"))
		})
	case "telemetry":
		return await(d, func(line string) string { return telemetry(t, s.shards[shard], line) })
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

// indented text stands under `rules:`.
func indented(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n      ")
}

// await asks for an answer to each line of input until all are the expected ones, or none has changed for a while.
func await(d *datadriven.TestData, answer func(line string) string) string {
	const (
		patience = time.Minute             // old hours are counted exactly within half of it
		settled  = 1500 * time.Millisecond // for -rewrite
	)
	start := time.Now()
	for last, since := "", start; ; {
		var b strings.Builder
		for line := range strings.Lines(d.Input) {
			b.WriteString(answer(strings.TrimSuffix(line, "\n")) + "\n")
		}
		text := b.String()
		if text != last {
			last, since = text, time.Now()
		}
		if !d.Rewrite && (text == d.Expected || time.Since(start) > patience) || d.Rewrite && time.Since(since) > settled {
			return text
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (s *scenario) send(t *testing.T, d *datadriven.TestData, to *collector.Sender) string {
	records, err := parseRecords(d.Input)
	require.NoError(t, err)
	switch d.Cmd {
	case "logs":
		err = to.Logs(t.Context(), logsOf(records))
	case "spans":
		err = to.Traces(t.Context(), spansOf(records))
	case "points":
		err = to.Metrics(t.Context(), pointsOf(records))
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d sent", len(records))
}

// list shows a list: a line of what it says of the whole, and one of each item.
func (s *scenario) list(t *testing.T, query string) string {
	status, body := s.answers.Get(t, "/v1/trending?"+query)
	if status != http.StatusOK {
		return fmt.Sprintf("%d %s", status, strings.TrimSuffix(body, "\n"))
	}
	var l oracle.List
	require.NoError(t, json.Unmarshal([]byte(body), &l), body)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", l.Rule, l.Window, l.Scope)
	if l.Scope == "group" {
		fmt.Fprintf(&b, " %q", l.Group)
	}
	fmt.Fprintf(&b, ", %s to %s: total %d", clock(l.WindowStart), clock(l.AsOf), l.Total)
	if l.TotalUpper != l.Total {
		fmt.Fprintf(&b, " to %d", l.TotalUpper)
	}
	fmt.Fprintf(&b, " of %d records, %d keys", l.Records, l.Distinct)
	for _, count := range []struct {
		name string
		n    uint64
	}{{"late", l.Coverage.Late}, {"future", l.Coverage.Future}, {"dropped", l.Coverage.Dropped}, {"overflowed", uint64(l.Coverage.OverflowedShards)}} {
		if count.n > 0 {
			fmt.Fprintf(&b, ", %d %s", count.n, count.name)
		}
	}
	if !l.Approximate {
		b.WriteString(", exact")
	}
	if l.Certified {
		b.WriteString(", certified")
	}
	if l.Partial {
		fmt.Fprintf(&b, ", partial: %s", strings.Join(l.PartialReasons, " "))
	}
	for _, item := range l.Items {
		fmt.Fprintf(&b, "\n  %d. %q %s", item.Rank, item.Key, between(item.Lower, item.Estimate))
		switch {
		case item.RankCertain:
		case item.Certain:
			b.WriteString(", rank uncertain")
		default:
			b.WriteString(", uncertain")
		}
	}
	return b.String()
}

func (s *scenario) count(t *testing.T, query string) string {
	status, body := s.answers.Get(t, "/v1/count?"+query)
	if status != http.StatusOK {
		return fmt.Sprintf("%d %s", status, strings.TrimSuffix(body, "\n"))
	}
	var p oracle.Point
	require.NoError(t, json.Unmarshal([]byte(body), &p), body)
	return fmt.Sprintf("%q %s", p.Key, between(p.Lower, p.Estimate))
}

func between(lower, estimate uint64) string {
	if lower == estimate {
		return fmt.Sprint(estimate)
	}
	return fmt.Sprintf("%d to %d", lower, estimate)
}

// clock is the time of day.
func clock(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return strings.TrimPrefix(at.Format("2006-01-02 15:04:05.999999999"), day+" ")
}

var ownLabels = regexp.MustCompile(`,?(otel_scope|service|processor|receiver|exporter)_?\w*="[^"]*"`)

// telemetry shows the metrics whose names start with name and that are not zero, without the labels that say which process
// it is.
func telemetry(t *testing.T, c *collector.Collector, name string) string {
	var found []string
	for line := range strings.Lines(c.Telemetry(t)) {
		if strings.HasPrefix(line, name) && !strings.HasSuffix(line, " 0\n") {
			line = ownLabels.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
			found = append(found, strings.Replace(strings.Replace(line, "{,", "{", 1), "{}", "", 1))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}
