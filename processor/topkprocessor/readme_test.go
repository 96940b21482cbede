package topkprocessor

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

var snippet = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func TestEverySnippetOfTheReadmeLoads(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	found := snippet.FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, found)
	for _, s := range found {
		retrieved, err := confmap.NewRetrievedFromYAML([]byte(strings.ReplaceAll(s[1], "${env:TOPK_SEED}", "seed")))
		require.NoError(t, err)
		conf, err := retrieved.AsConf()
		require.NoError(t, err)
		processors, err := conf.Sub("processors")
		require.NoError(t, err)
		for id := range processors.ToStringMap() {
			sub, err := processors.Sub(id)
			require.NoError(t, err)
			cfg := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(cfg), s[1])
			require.NoError(t, confmap.Validate(cfg), s[1])
		}
	}
}

func TestEveryKeyIsInTheReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	conf := confmap.New()
	require.NoError(t, conf.Marshal(createDefaultConfig()))
	for key := range conf.ToStringMap() {
		require.Contains(t, string(readme), "| `"+key+"` |")
	}
	rules := confmap.New()
	require.NoError(t, rules.Marshal(map[string]any{"rule": Rule{}}))
	rule, err := rules.Sub("rule")
	require.NoError(t, err)
	for key := range rule.ToStringMap() {
		require.Contains(t, string(readme), "`"+key)
	}
}
