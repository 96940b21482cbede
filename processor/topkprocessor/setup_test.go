package topkprocessor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

// parse a configuration of the processor from YAML.
func parse(t testing.TB, yaml string) (*Config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(yaml))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	if err := conf.Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func mustParse(t testing.TB, yaml string) *Config {
	t.Helper()
	cfg, err := parse(t, yaml)
	require.NoError(t, err)
	return cfg
}

const tenants = `
rules:
  - name: tenants
    key: ['log.attributes["tenant"]']
`

// startLogs starts a logs processor of cfg before next, with gw as its gateway.
func startLogs(t testing.TB, cfg *Config, gw *fakeGateway, next consumer.Logs) processor.Logs {
	t.Helper()
	return startLogsWith(t, processortest.NewNopSettings(metadata.Type), cfg, gw.connect, next)
}

func startLogsWith(t testing.TB, set processor.Settings, cfg *Config, connect uplink.Connect, next consumer.Logs) processor.Logs {
	t.Helper()
	if next == nil {
		next = consumertest.NewNop()
	}
	p, err := newFactory(connect).CreateLogs(t.Context(), set, cfg, next)
	require.NoError(t, err)
	require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
	return p
}

// stop p, with nothing left behind.
func stop(t testing.TB, p component.Component) {
	t.Helper()
	require.NoError(t, p.Shutdown(t.Context()))
}

// tenantLogs is one record a tenant, all at one time.
func tenantLogs(at time.Time, tenants ...string) plog.Logs {
	ld := plog.NewLogs()
	records := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, name := range tenants {
		lr := records.AppendEmpty()
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		lr.Attributes().PutStr("tenant", name)
	}
	return ld
}
