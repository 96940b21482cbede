package parquetexporter

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func TestREADMESettingsLoad(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := block.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, 1)
	settings, err := confmap.NewRetrievedFromYAML([]byte(blocks[0][1]))
	require.NoError(t, err)
	conf, err := settings.AsConf()
	require.NoError(t, err)
	section, err := conf.Sub("exporters::parquet")
	require.NoError(t, err)
	_, err = load(t, section.ToStringMap())
	require.NoError(t, err)
}

// TestREADMENamesEverySettingAndMetric, in their tables.
func TestREADMENamesEverySettingAndMetric(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	conf := confmap.New()
	require.NoError(t, conf.Marshal(createDefaultConfig()))
	for _, key := range conf.AllKeys() {
		assert.Contains(t, string(text), "`"+key+"`")
	}
	metrics, err := os.ReadFile("documentation.md")
	require.NoError(t, err)
	named := regexp.MustCompile(`(?m)^### otelcol_exporter_parquet_(\w+)$`).FindAllStringSubmatch(string(metrics), -1)
	require.NotEmpty(t, named)
	for _, name := range named {
		assert.True(t, strings.Contains(string(text), "`otelcol_exporter_parquet_"+name[1]+"`") || strings.Contains(string(text), "`"+name[1]+"`"), name[1])
	}
}
