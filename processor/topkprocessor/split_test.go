package topkprocessor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/otel-topk/collector/processor/topkprocessor/internal/metadata"
)

const splitRules = `
rules:
  - {name: tenants, key: 'log.attributes["tenant"]'}
  - {name: bodies, key: log.body, default: none}
gateways:
  - {endpoint: "localhost:1", rules: [tenants]}
  - {endpoint: "localhost:2", rules: [bodies]}
  - {endpoint: "localhost:3"}
`

func TestGatewaysSplitRulesBetweenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gws := []*fakeGateway{{}, {}, {}}
		p := startLogsWith(t, processortest.NewNopSettings(metadata.Type), mustParse(t, splitRules), connectEach(gws...), nil)
		for range 3 {
			require.NoError(t, p.ConsumeLogs(t.Context(), tenantLogs(time.Now(), "a", "b")))
			time.Sleep(time.Minute)
		}
		stop(t, p)
		for i, want := range [][]string{{"tenants"}, {"bodies"}, {"tenants", "bodies"}} {
			counted := map[string]uint64{}
			for id, s := range gws[i].states {
				counted[id.rule] += s.Summary.Total()
			}
			assert.Len(t, counted, len(want))
			for _, name := range want {
				assert.EqualValues(t, 6, counted[name], "gateway %d, rule %s", i, name)
			}
			for _, r := range gws[i].requests {
				assert.Len(t, r.report.Rules, len(want), "gateway %d is told of what it takes", i)
			}
		}
		_, bytes := p.(*logs).counter.pending.Count(0)
		assert.Zero(t, bytes, "no gateway is waited for that does not take a rule")
	})
}

func TestEveryRuleGoesToSomeGatewayAndEveryNameIsOne(t *testing.T) {
	_, err := parse(t, `
rules:
  - {name: tenants, key: log.body}
  - {name: bodies, key: log.body}
gateways:
  - {endpoint: "localhost:1", rules: [tenants, pathes]}
  - {endpoint: "localhost:2", rules: []}
`)
	for _, want := range []string{
		`gateways[0].rules[1]: "pathes" is the name of none of rules`,
		"gateways[1].rules: empty",
		`rules[1]: no gateway takes "bodies"`,
	} {
		assert.ErrorContains(t, err, want)
	}
}
