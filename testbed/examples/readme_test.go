package examples_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/collector"
	"github.com/otel-topk/collector/testbed/examples"
)

var fence = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// snippets of a language in a page of the repository.
func snippets(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(examples.Path(t, page))
	require.NoError(t, err)
	var found []string
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if block[1] == language {
			found = append(found, block[2])
		}
	}
	return found
}

func TestSnippetsOfYAMLFitIntoTheQuickstart(t *testing.T) {
	t.Setenv("TOPK_SEED", seed)
	for _, page := range []string{
		"README.md", "processor/topkprocessor/README.md", "receiver/trendreceiver/README.md", "receiver/eventsreceiver/README.md", "exporter/topkexporter/README.md", "exporter/topkexporter/redis.md",
		"exporter/parquetexporter/README.md", "extension/storagecheckextension/README.md", "docs/storage.md",
	} {
		for _, snippet := range snippets(t, page, "yaml") {
			file := filepath.Join(t.TempDir(), "snippet.yaml")
			require.NoError(t, os.WriteFile(file, []byte(snippet), 0o600))
			said, err := exec.Command(collector.Binary(t, "otelcol-topk"), "validate",
				"--config", examples.Path(t, "examples/quickstart/config.yaml"), "--config", file).CombinedOutput()
			assert.NoError(t, err, "%s:\n%s\n%s", page, snippet, said)
		}
	}
}

func TestCallsOfTheREADMEAnswerAsItShows(t *testing.T) {
	ports := collector.NewPorts()
	c := collector.Start(t, examples.Load(t, "examples/quickstart/config.yaml"), ports)
	gen := newGenerator(t)
	stream(t, collector.NewSender(t, ports.Address(t, "otlp")), gen, 4)
	c.AwaitTotal(t, 4*perRequest)

	calls := regexp.MustCompile(`(?m)^curl '?localhost:7070([^'\n]*)`).FindAllStringSubmatch(strings.Join(snippets(t, "README.md", "sh"), ""), -1)
	calls = slices.DeleteFunc(calls, func(call []string) bool { return strings.Contains(call[1], "JOB_ID") }) // see exact_test.go
	require.NotEmpty(t, calls)
	answers := make(map[string]any)
	for _, call := range calls {
		status, body := c.Get(t, call[1])
		assert.Equal(t, http.StatusOK, status, "%s: %s", call[0], body)
		if strings.HasPrefix(body, "{") {
			var answer map[string]any
			require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
			for name, value := range answer {
				if _, known := answers[name]; !known { // the page shows the first answer
					answers[name] = value
				}
			}
		}
	}
	commands := regexp.MustCompile(`(?m)^bin/topk ((?:top|count) --window 5m.*)`).FindAllStringSubmatch(strings.Join(snippets(t, "README.md", "sh"), ""), -1)
	require.Len(t, commands, 2)
	for _, command := range commands {
		topk := exec.Command(collector.Binary(t, "topk"), strings.Fields(command[1])...)
		topk.Env = append(os.Environ(), "TOPK_URL=http://"+ports.Address(t, "api"))
		said, err := topk.CombinedOutput()
		require.NoError(t, err, "%s:\n%s", command[0], said)
		assert.Contains(t, string(said), "tenant-1")
	}
	for _, shown := range snippets(t, "README.md", "json") {
		if strings.Contains(shown, `"job_id"`) {
			continue
		}
		var answer any
		require.NoError(t, json.Unmarshal([]byte(shown), &answer), shown)
		sameFields(t, "", answer, answers)
	}
}

// sameFields fails where shown has a field that served lacks, down to the first element of each list.
func sameFields(t *testing.T, path string, shown, served any) {
	t.Helper()
	switch shown := shown.(type) {
	case map[string]any:
		fields, ok := served.(map[string]any)
		if !assert.True(t, ok, "%s is no object", path) {
			return
		}
		for name, value := range shown {
			if assert.Contains(t, fields, name, "in %s", path) {
				sameFields(t, path+"."+name, value, fields[name])
			}
		}
	case []any:
		items, ok := served.([]any)
		if assert.True(t, ok, "%s is no list", path) && len(shown) > 0 && len(items) > 0 {
			sameFields(t, path+"[0]", shown[0], items[0])
		}
	}
}

func TestCommandsOfThePagesExist(t *testing.T) {
	makefile, err := os.ReadFile(examples.Path(t, "Makefile"))
	require.NoError(t, err)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, target := range regexp.MustCompile("(?:^|`|[A-Z]=[^ ]+ )make ([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, string(makefile), "\n"+target[1]+":", page)
		}
		for _, config := range regexp.MustCompile(`--config (examples/\S+)`).FindAllStringSubmatch(string(text), -1) {
			assert.FileExists(t, examples.Path(t, config[1]), page)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), link[1]))
			assert.NoError(t, err, page)
		}
	}
}

// pages of Markdown in the repository.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	root := examples.Path(t, ".")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "_build") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return err
	}))
	require.NotEmpty(t, found)
	return found
}
