package topkprocessor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

func observedSettings() (processor.Settings, *observer.ObservedLogs) {
	core, lines := observer.New(zapcore.DebugLevel)
	set := processortest.NewNopSettings(metadata.Type)
	set.Logger = zap.New(core)
	return set, lines
}

// warnings as text, fields included.
func warnings(lines *observer.ObservedLogs) []string {
	var all []string
	for _, e := range lines.All() {
		if e.Level < zapcore.WarnLevel {
			continue
		}
		text := e.Message
		for key, value := range e.ContextMap() {
			text += " " + key + "=" + strings.TrimSpace(zap.Any("", value).String)
		}
		all = append(all, text)
	}
	return all
}

func TestRuleThatMatchesNothingIsNamedOnce(t *testing.T) { // L8
	synctest.Test(t, func(t *testing.T) {
		set, lines := observedSettings()
		p := startLogsWith(t, set, mustParse(t, tenants+"  - name: typo\n    key: ['log.attributes[\"tenannt\"]']\n"), (&fakeGateway{}).connect, nil)
		for range 20 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "secret-key")))
			time.Sleep(time.Minute)
		}
		stop(t, p)
		got := warnings(lines)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "matched no record")
		assert.Contains(t, got[0], "rule=typo")
	})
}

func TestIdleRuleIsNotWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, lines := observedSettings()
		p := startLogsWith(t, set, mustParse(t, tenants), (&fakeGateway{}).connect, nil)
		time.Sleep(time.Hour)
		stop(t, p)
		assert.Empty(t, warnings(lines))
	})
}

func TestRuleWhoseRecordsAreAllLateLooksLikeHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, lines := observedSettings()
		p := startLogsWith(t, set, mustParse(t, tenants), (&fakeGateway{}).connect, nil)
		for range 20 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now().Add(-24*time.Hour), "a")))
			time.Sleep(time.Minute)
		}
		stop(t, p)
		got := warnings(lines)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "clock: event")
		assert.Contains(t, got[0], "rule=tenants")
	})
}

func TestReachedMaxGroupsIsNamedOnceWithoutTheGroups(t *testing.T) { // L7
	synctest.Test(t, func(t *testing.T) {
		set, lines := observedSettings()
		p := startLogsWith(t, set, mustParse(t, byRegion), (&fakeGateway{}).connect, nil)
		for range 10 {
			require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(time.Now(), 1, regions(0, 20)...)))
			time.Sleep(time.Minute)
		}
		got := warnings(lines)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "max_groups")
		assert.Contains(t, got[0], "rule=tenants")
		assert.NotContains(t, got[0], "r1")

		time.Sleep(time.Hour)
		require.NoError(t, p.ConsumeLogs(t.Context(), regionLogs(time.Now(), 1, regions(0, 20)...)))
		time.Sleep(2 * time.Second)
		stop(t, p)
		assert.Len(t, warnings(lines), 2, "said again after it was gone for long")
	})
}

func TestReachedLimitsOfKeysAndWeightsAreNamedOnceWithoutTheKeys(t *testing.T) { // L7
	synctest.Test(t, func(t *testing.T) {
		set, lines := observedSettings()
		p := startLogsWith(t, set, mustParse(t, tenants+`    max_key_bytes: 64
    weight: log.attributes["size"]
  - {name: fits, key: 'log.attributes["tenant"]'}
`), (&fakeGateway{}).connect, nil)
		for range 10 {
			names := slices.Repeat([]string{strings.Repeat("secret", 20), "secret"}, 300)
			ld := tenantLogs(time.Now(), names...)
			for _, lr := range ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
				lr.Attributes().PutInt("size", rule.MaxWeight)
			}
			require.NoError(t, p.ConsumeLogs(t.Context(), ld))
			time.Sleep(30 * time.Second)
		}
		stop(t, p)
		got := warnings(lines)
		require.Len(t, got, 2)
		assert.Contains(t, got[0], "max_key_bytes")
		assert.Contains(t, got[1], "all the weight")
		for _, line := range got {
			assert.Contains(t, line, "rule=tenants")
			assert.NotContains(t, line, "secret")
		}
	})
}

func TestFailingExpressionsAreNamedUnlessSilent(t *testing.T) {
	for mode, want := range map[string]int{rule.ErrorIgnore: 1, rule.ErrorSilent: 0} {
		synctest.Test(t, func(t *testing.T) {
			set, lines := observedSettings()
			p := startLogsWith(t, set, mustParse(t, tenants+`  - name: parsed
    key: ['ParseJSON(log.attributes["tenant"])["a"]']
    error_mode: `+mode), (&fakeGateway{}).connect, nil)
			for range 4 {
				require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "secret-key")))
				time.Sleep(time.Minute)
			}
			stop(t, p)
			got := warnings(lines)
			require.Len(t, got, want, mode)
			for _, line := range got {
				assert.Contains(t, line, "expression failed")
				assert.Contains(t, line, "rule=parsed")
				assert.NotContains(t, line, "secret-key")
			}
		})
	}
}

func TestGatewayIsLoggedOnceDownAndOnceUp(t *testing.T) { // and L9
	synctest.Test(t, func(t *testing.T) {
		set, lines := observedSettings()
		gw := &fakeGateway{}
		gw.down.Store(true)
		p := startLogsWith(t, set, mustParse(t, tenants), gw.connect, nil)
		for i := range 60 {
			if i == 30 {
				gw.down.Store(false)
			}
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "secret-key")))
			time.Sleep(10 * time.Second)
		}
		stop(t, p)
		var messages []string
		for _, e := range lines.All() {
			messages = append(messages, e.Message)
			for _, value := range e.ContextMap() {
				assert.NotContains(t, fmt.Sprint(value), "secret-key")
			}
		}
		require.Len(t, messages, 3)
		assert.Equal(t, "Counting", messages[0])
		assert.Contains(t, messages[1], "does not answer")
		assert.Contains(t, messages[2], "answers again")
	})
}
