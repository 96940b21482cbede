package topkexporter

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
	"github.com/otel-topk/collector/internal/rule"
)

var (
	block = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")
	call  = regexp.MustCompile(`^curl (?:(-X DELETE)|-H 'Content-Type: application/json' -d '([^']*)')? ?'(?:http://)?localhost:7070(/[^']*)'$`)
	job   = regexp.MustCompile(`[0-9a-f]{32}`)
)

// anyJob is how the README writes the id of the newest recount.
const anyJob = "0123456789abcdef0123456789abcdef"

// tour is what the README's calls ask.
func tour(t *testing.T) *topkExporter {
	e := recountingBy(t, countZipf)
	d := e.recounts.rules["tenants"].Definition()
	stream := zipf(t, d, 5000)
	require.NoError(t, e.consumeLogs(t.Context(), logs(t,
		summed(d, 5*time.Minute, rule.Group{}, stream),
		summed(d, time.Hour, rule.Group{}, stream),
		summed(d, 5*time.Minute, group("eu-west-1"), stream),
	)))
	roll(t, e, rollup(d, elevenOClock, rule.Group{}, stream), rollup(d, elevenOClock, group("eu-west-1"), stream))
	return e
}

// guides are the texts whose snippets are run, and how many settings each has.
var guides = map[string]int{"README.md": 2, "recounts.md": 1}

// TestREADMEAnswers runs every curl line; the JSON after it is the answer, word for word.
func TestREADMEAnswers(t *testing.T) {
	for name := range guides {
		t.Run(name, func(t *testing.T) { checkAnswers(t, name) })
	}
}

func checkAnswers(t *testing.T, name string) {
	e := tour(t)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	last := ""
	got := block.ReplaceAllStringFunc(string(text), func(b string) string {
		parts := block.FindStringSubmatch(b)
		switch kind, body := parts[1], parts[2]; kind {
		case "sh":
			for line := range strings.Lines(body) {
				w := run(t, e, line)
				last = job.ReplaceAllString(w.Body.String(), anyJob)
				switch {
				case strings.Contains(line, "k=1000"):
					assert.Equal(t, http.StatusBadRequest, w.Code, line)
				case strings.Contains(line, "-X DELETE"):
					assert.Equal(t, http.StatusConflict, w.Code, "it is done by then")
				case strings.Contains(line, " -d "):
					assert.Equal(t, http.StatusAccepted, w.Code, line)
				default:
					assert.Equal(t, http.StatusOK, w.Code, line)
				}
			}
		case "json":
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, []byte(last), "", "  "))
			return "```json\n" + pretty.String() + "```"
		}
		return b
	})
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o600))
		return
	}
	assert.Equal(t, string(text), got)
}

// run a curl line. A recount has ended when it returns.
func run(t *testing.T, e *topkExporter, line string) *httptest.ResponseRecorder {
	match := call.FindStringSubmatch(strings.TrimSpace(line))
	require.NotNil(t, match, line)
	method, target := http.MethodGet, match[3]
	switch {
	case match[1] != "":
		method = http.MethodDelete
	case match[2] != "":
		method = http.MethodPost
	}
	if newest := e.recounts.queue.Newest(1); len(newest) > 0 {
		target = strings.ReplaceAll(target, anyJob, newest[0].ID)
	}
	r := httptest.NewRequest(method, target, strings.NewReader(match[2]))
	r.Host, r.RemoteAddr = "localhost:7070", "127.0.0.1:50000"
	r.Header.Set("Content-Type", "application/json")
	w := do(e, r)
	require.Eventually(t, func() bool {
		jobs := e.recounts.queue.State()
		return jobs.Running+jobs.Waiting == 0
	}, 10*time.Second, time.Millisecond)
	return w
}

// countZipf counts exactly what tour publishes.
func countZipf(_ context.Context, o *recounts.Order, _ func(float64, int64)) (*recounts.Result, error) {
	counts := map[string]uint64{}
	for key := range zipfKeys(5000) {
		counts[key]++
	}
	res := &recounts.Result{Weight: 5000, Records: 5000, Distinct: uint64(len(counts)), Files: 3}
	for _, key := range o.Keys {
		res.Items = append(res.Items, recounts.Item{Key: key, Weight: counts[key], Records: counts[key]})
	}
	return res, nil
}

func TestREADMESettingsLoad(t *testing.T) {
	for name, settings := range guides {
		t.Run(name, func(t *testing.T) { checkSettings(t, name, settings) })
	}
}

func TestSettingsOfRedisLoad(t *testing.T) { checkSettings(t, "redis.md", 1) }

func checkSettings(t *testing.T, name string, want int) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	loaded := 0
	for _, parts := range block.FindAllStringSubmatch(string(text), -1) {
		if parts[1] != "yaml" {
			continue
		}
		text := strings.ReplaceAll(parts[2], "${file:rules.yaml}", `[{name: tenants, key: 'log.attributes["tenant.id"]'}]`)
		settings, err := confmap.NewRetrievedFromYAML([]byte(text))
		require.NoError(t, err)
		conf, err := settings.AsConf()
		require.NoError(t, err)
		section, err := conf.Sub("exporters::topk")
		require.NoError(t, err)
		_, err = load(t, section.ToStringMap())
		assert.NoError(t, err, parts[2])
		loaded++
	}
	assert.Equal(t, want, loaded)
}
