package topkexporter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otel-topk/collector/internal/rule"
)

var (
	block = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")
	call  = regexp.MustCompile(`^curl '(?:http://)?localhost:7070(/[^']*)'$`)
)

// tour is what the README's calls ask.
func tour(t *testing.T) *topkExporter {
	d := tenants(t, grouped)
	stream := zipf(t, d, 5000)
	e := shelf(t,
		summed(d, 5*time.Minute, rule.Group{}, stream),
		summed(d, time.Hour, rule.Group{}, stream),
		summed(d, 5*time.Minute, group("eu-west-1"), stream),
	)
	roll(t, e, rollup(d, elevenOClock, rule.Group{}, stream), rollup(d, elevenOClock, group("eu-west-1"), stream))
	return e
}

// TestREADMEAnswers runs every curl line; the JSON after it is the answer, word for word.
func TestREADMEAnswers(t *testing.T) {
	e := tour(t)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	last := ""
	got := block.ReplaceAllStringFunc(string(text), func(b string) string {
		parts := block.FindStringSubmatch(b)
		switch kind, body := parts[1], parts[2]; kind {
		case "sh":
			for line := range strings.Lines(body) {
				match := call.FindStringSubmatch(strings.TrimSpace(line))
				require.NotNil(t, match, line)
				w := get(e, match[1])
				last = w.Body.String()
				if strings.Contains(match[1], "k=1000") {
					assert.Equal(t, http.StatusBadRequest, w.Code, line)
				} else {
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
		require.NoError(t, os.WriteFile("README.md", []byte(got), 0o600))
		return
	}
	assert.Equal(t, string(text), got)
}

func TestREADMESettingsLoad(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	loaded := 0
	for _, parts := range block.FindAllStringSubmatch(string(text), -1) {
		if parts[1] != "yaml" {
			continue
		}
		settings, err := confmap.NewRetrievedFromYAML([]byte(parts[2]))
		require.NoError(t, err)
		conf, err := settings.AsConf()
		require.NoError(t, err)
		section, err := conf.Sub("exporters::topk")
		require.NoError(t, err)
		_, err = load(t, section.ToStringMap())
		assert.NoError(t, err, parts[2])
		loaded++
	}
	assert.Equal(t, 2, loaded)
}
