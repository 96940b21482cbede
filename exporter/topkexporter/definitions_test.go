package topkexporter

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

func TestARuleThatCountsOtherwiseThanItWasCountedIsToldOnceAndInItsLists(t *testing.T) {
	e := recountingBy(t, tally10)
	core, log := observer.New(zap.WarnLevel)
	e.telemetry.logger = zap.New(core)
	e.recounts.exact = e.recounts.newExact(e.store, componenttest.NewNopHost())
	at := func(when string) trend {
		return decode[trend](t, get(e, "/v1/trending?rule=tenants&at="+when))
	}
	served := func(hour window.Minute, edit func(*rule.Definition)) {
		d := *e.recounts.rules["tenants"].Definition()
		edit(&d)
		roll(t, e, rollup(&d, hour, rule.Group{}, zipf(t, &d, 10)))
		e.handler.checkDefinitions()
		e.handler.checkDefinitions()
	}
	served(elevenOClock-2*oneHour, func(d *rule.Definition) { d.K, d.Residents = 7, 700 })
	assert.NotContains(t, at("2026-01-02T09:00:00Z").PartialReasons, reasonDefinition)
	require.Zero(t, log.Len())

	served(elevenOClock-oneHour, func(d *rule.Definition) { d.GroupBy, d.Shape.Seed = "", 4711 })
	require.Equal(t, 1, log.Len(), "once")
	assert.Equal(t, map[string]any{"rule": "tenants", "differing": []any{"group_by", "seed"}}, log.All()[0].ContextMap())
	a := at("2026-01-02T10:00:00Z")
	assert.True(t, a.Approximate)
	assert.Contains(t, a.PartialReasons, reasonDefinition)
	assert.NotContains(t, at("2026-01-02T12:00:00Z").PartialReasons, reasonDefinition, "it is not closed")
	w := request(t, e, http.MethodPost, recountsRoute, `{"rule":"tenants",`+lastHourBody+`}`)
	assert.Contains(t, said(t, w), "differing: group_by, seed; counted: {")

	served(elevenOClock, func(d *rule.Definition) { d.Conditions = []string{"true"} })
	assert.Equal(t, 2, log.Len(), "what differs has changed")
}

// Every field that the fingerprint covers has a name.
func TestDefinitionsThatCountDifferentlyDifferInAFieldByName(t *testing.T) {
	d := tenants(t, grouped)
	empty := ""
	for name, edit := range map[string]func(*rule.Definition){
		"signals":          func(d *rule.Definition) { d.Signals = []string{rule.SignalTraces} },
		"key":              func(d *rule.Definition) { d.Key = []string{"a", "b"} },
		"default":          func(d *rule.Definition) { d.Default = &empty },
		"group_by":         func(d *rule.Definition) { d.GroupBy = "x" },
		"weight":           func(d *rule.Definition) { d.Weight = rule.WeightBytes },
		"weight_scale":     func(d *rule.Definition) { d.WeightScale = 2 },
		"conditions":       func(d *rule.Definition) { d.Conditions = []string{"true"} },
		"time":             func(d *rule.Definition) { d.Time = rule.TimeStart },
		"max_key_bytes":    func(d *rule.Definition) { d.MaxKeyBytes++ },
		"accuracy.epsilon": func(d *rule.Definition) { d.Shape.Width++ },
		"accuracy.delta":   func(d *rule.Definition) { d.Shape.Depth++ },
		"seed":             func(d *rule.Definition) { d.Shape.Seed++ },
	} {
		other := *d
		edit(&other)
		assert.False(t, sameCount(d, &other, true), name)
		assert.Equal(t, []string{name}, differing(d, &other, true))
		assert.Equal(t, sameCount(d, &other, false), len(differing(d, &other, false)) == 0, name)
	}
	assert.Empty(t, differing(d, d, true))
}

func TestStatusSaysHowFarHoursAreCountedExactly(t *testing.T) {
	_, server, _ := closing(t, t.TempDir())
	require.Eventually(t, func() bool {
		return asked[statusAnswer](t, server+"/v1/status").Exact != nil
	}, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, exactState{}, *asked[statusAnswer](t, server+"/v1/status").Exact)
	assert.Nil(t, decode[statusAnswer](t, get(shelf(t), "/v1/status")).Exact)
}
