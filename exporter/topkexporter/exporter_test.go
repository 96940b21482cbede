package topkexporter

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/metadatatest"
	"github.com/otel-topk/collector/internal/rule"
)

// listening are settings, and what tells the address that an exporter with them listens at.
func listening() (exporter.Settings, func() string) {
	core, logged := observer.New(zap.InfoLevel)
	set := exportertest.NewNopSettings(typ)
	set.Logger = zap.New(core)
	return set, func() string { return logged.FilterMessage("Serving lists").All()[0].ContextMap()["endpoint"].(string) }
}

// started is the exporter as a collector runs it, at a free port.
func started(t testing.TB, host component.Host, edits ...func(*Config)) (exporter.Logs, string) {
	config := createDefaultConfig().(*Config)
	config.ServerConfig.NetAddr.Endpoint = "localhost:0"
	for _, edit := range edits {
		edit(config)
	}
	require.NoError(t, config.Validate())
	set, address := listening()
	e, err := NewFactory().CreateLogs(t.Context(), set, config)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), host))
	t.Cleanup(func() { require.NoError(t, e.Shutdown(context.WithoutCancel(t.Context()))) })
	return e, address()
}

// fetch is what the server at url answers.
func fetch(t testing.TB, client *http.Client, url string) (status int, body string) {
	defer client.CloseIdleConnections()
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(b)
}

func TestPublicationsAreServed(t *testing.T) {
	e, address := started(t, componenttest.NewNopHost())
	assert.False(t, e.Capabilities().MutatesData)
	require.NoError(t, e.ConsumeLogs(t.Context(), logs(t, counted(t, tenants(t), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 7}))))
	status, body := fetch(t, &http.Client{}, "http://"+address+"/v1/trending?window=5m&k=10")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, `"key":"a","parts":["a"],"estimate":7`)
}

func TestRecordsThatAreNoPublicationAreRefusedAndTheOthersTaken(t *testing.T) {
	e := shelf(t)
	ld := logs(t, counted(t, tenants(t), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 7}))
	for _, text := range []string{"one log", "another log"} {
		ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr(text)
	}
	err := e.consumeLogs(t.Context(), ld)
	require.Error(t, err)
	assert.True(t, consumererror.IsPermanent(err))
	assert.Regexp(t, `^Permanent error: 2 of 4 log records are no publication: scope: .* this takes the lists of trend receivers only$`, err.Error())
	assert.NotContains(t, err.Error(), "one log")
	assert.Equal(t, uint64(7), e.store.list("tenants", fiveMinutes).Total)
}

func TestTelemetry(t *testing.T) {
	tel := componenttest.NewTelemetry()
	set := metadatatest.NewSettings(tel)
	core, logged := observer.New(zap.InfoLevel)
	set.Logger = zap.New(core)
	config := createDefaultConfig().(*Config)
	config.MaxLists = 1
	e, err := newExporter(config, set)
	require.NoError(t, err)
	a := counted(t, tenants(t), 5*time.Minute, rule.Group{}, map[string]uint64{"a": 7})
	older := a
	older.AsOf, older.pointless = noon.Add(-time.Minute), true
	b := counted(t, tenants(t, called("second")), 5*time.Minute, rule.Group{}, map[string]uint64{"secret": 7})
	ld := logs(t, a, older, b, b)
	ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	require.Error(t, e.consumeLogs(t.Context(), ld))
	get(e, "/v1/trending")

	outcome := func(name string, n int64) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(attribute.String("outcome", name))}
	}
	metadatatest.AssertEqualExporterTopkPublications(t, tel, []metricdata.DataPoint[int64]{
		outcome("taken", 2), outcome("stale", 1), outcome("over_limit", 2), outcome("unpaired", 2), outcome("refused", 1),
	}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualExporterTopkLists(t, tel, []metricdata.DataPoint[int64]{{Value: 1}}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualExporterTopkListsRemoved(t, tel, []metricdata.DataPoint[int64]{{Value: 0}}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualExporterTopkHTTPRequests(t, tel, []metricdata.DataPoint[int64]{
		{Value: 1, Attributes: attribute.NewSet(attribute.String("route", "/v1/trending"), attribute.Int("code", 200))},
	}, metricdatatest.IgnoreTimestamp())

	require.NoError(t, e.consumeLogs(t.Context(), logs(t, b)))
	require.NoError(t, e.consumeLogs(t.Context(), logs(t, a)))
	var messages []string
	for _, entry := range logged.All() {
		messages = append(messages, entry.Message)
	}
	assert.Equal(t, []string{
		"max_lists is reached: new lists take the place of idle ones, or are refused", "max_lists is no longer exceeded",
	}, messages, "once for each change")
	assert.Equal(t, map[string]any{"rule": "second"}, logged.All()[0].ContextMap())
	require.NoError(t, e.shutdown(t.Context()))
	require.NoError(t, tel.Shutdown(t.Context()))
}

func TestAPortThatIsTakenIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	config := createDefaultConfig().(*Config)
	config.ServerConfig.NetAddr.Endpoint = l.Addr().String()
	e, err := NewFactory().CreateLogs(t.Context(), exportertest.NewNopSettings(typ), config)
	require.NoError(t, err)
	require.ErrorContains(t, e.Start(t.Context(), componenttest.NewNopHost()), "endpoint: ")
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestShutdownCutsOffWhatDoesNotEnd(t *testing.T) {
	config := createDefaultConfig().(*Config)
	config.ServerConfig.NetAddr.Endpoint = "localhost:0"
	set, address := listening()
	e, err := newExporter(config, set)
	require.NoError(t, err)
	begun, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	e.handler.metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-end
	})
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	stuck, err := net.Dial("tcp", address())
	require.NoError(t, err)
	defer stuck.Close()
	_, err = stuck.Write([]byte("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	require.NoError(t, err)
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, e.shutdown(ctx), context.Canceled)
}

// refusing is an authenticator that lets nobody in.
type refusing struct {
	component.StartFunc
	component.ShutdownFunc
}

func (refusing) Authenticate(context.Context, map[string][]string) (context.Context, error) {
	return nil, errors.New("who are you?")
}

type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

func TestAuthGuardsEveryPathInJSON(t *testing.T) {
	id := component.MustNewID("refusing")
	_, address := started(t, hostWith{id: refusing{}}, func(c *Config) {
		c.ServerConfig.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: id}})
	})
	for _, path := range routes {
		status, body := fetch(t, &http.Client{}, "http://"+address+path)
		assert.Equal(t, http.StatusUnauthorized, status, path)
		assert.JSONEq(t, `{"error":"who are you?"}`, body, path)
	}
}

func TestTLS(t *testing.T) {
	certificate, key, client := selfSigned(t)
	_, address := started(t, componenttest.NewNopHost(), func(c *Config) {
		c.ServerConfig.TLS = configoptional.Some(configtls.ServerConfig{Config: configtls.Config{CertFile: certificate, KeyFile: key}})
	})
	status, _ := fetch(t, client, "https://"+address+"/healthz")
	assert.Equal(t, http.StatusOK, status)
	status, _ = fetch(t, &http.Client{}, "http://"+address+"/healthz")
	assert.Equal(t, http.StatusBadRequest, status)
}
