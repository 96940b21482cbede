package rule

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/plog"
)

const testSecret = "a secret of tests"

// The pseudonyms are what this says: printf %s VALUE | openssl dgst -sha256 -hmac 'a secret of tests' -r | cut -c1-32
func TestPseudonymsAreTheMACOfTheText(t *testing.T) {
	for _, row := range []struct {
		situation, expression string
		value                 any // of the attribute "client"
		key                   string
		skipped               Skipped
	}{
		{"a text", `Pseudonym(log.attributes["client"])`, "203.0.113.7", "360dae0207a24357d0da64cf0542bdd1", Skipped{}},
		{"a number and its text alike", `Pseudonym(log.attributes["client"])`, 200, "7bb223126681c3988708d9d9f62bcdd8", Skipped{}},
		{"a number and its text alike: the text", `Pseudonym(log.attributes["client"])`, "200", "7bb223126681c3988708d9d9f62bcdd8", Skipped{}},
		{"no such attribute", `Pseudonym(log.attributes["none"])`, "203.0.113.7", "", Skipped{MissingKey: 1}},
		{"what has no text", `Pseudonym([log.time])`, "203.0.113.7", "", Skipped{Errors: 1}},
		{"what fails", `Pseudonym(log.attributes["client"][9])`, "203.0.113.7", "", Skipped{Errors: 1}},
	} {
		t.Run(row.situation, func(t *testing.T) {
			r := compiled(t, func(c *Config) { c.Key = []string{row.expression} })
			b := countLogs(r, logsOf(1, func(_ int, lr plog.LogRecord) {
				require.NoError(t, lr.Attributes().FromRaw(map[string]any{"client": row.value}))
			}))
			if row.key != "" {
				require.Equal(t, []string{row.key}, b.Keys)
			}
			require.Equal(t, row.skipped, b.Skipped)
			require.NotContains(t, r.Definition().Key[0], testSecret)
		})
	}
}

func TestPseudonymsNeedASecret(t *testing.T) {
	cfg := NewDefaultConfig()
	cfg.Name, cfg.Key = "clients", []string{`Pseudonym(log.attributes["client"])`}
	require.ErrorContains(t, cfg.Validate(""), "key[0]: ")
	require.ErrorContains(t, cfg.Validate(""), "a pseudonym needs the secret seed of the processor")
	require.NoError(t, cfg.Validate(testSecret))
	_, err := New(cfg, 1, "", componenttest.NewNopTelemetrySettings())
	require.EqualError(t, err, cfg.Validate("").Error())
}
