package trendreceiver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	xstorage "go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

// damage flips a bit of the first stored value whose key has the prefix, and says whether there was one.
func (d *disk) damage(t testing.TB, prefix string) bool {
	client, err := d.GetClient(t.Context(), component.KindReceiver, component.NewID(metadata.Type), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(context.Background())) }()
	found := false
	require.NoError(t, client.(xstorage.Walker).Walk(t.Context(), func(key string, value []byte) ([]*xstorage.Operation, error) {
		if found || !strings.HasPrefix(key, prefix) {
			return nil, nil
		}
		found = true
		broken := append([]byte(nil), value...)
		broken[len(broken)/2] ^= 1
		return []*xstorage.Operation{xstorage.SetOperation(key, broken)}, nil
	}))
	return found
}

func TestADamagedValueIsSetAsideAndTold(t *testing.T) {
	for _, prefix := range []string{"state/", "set/", "part/", "epoch/"} {
		t.Run(prefix, func(t *testing.T) {
			l, w := newLives(t), newWall(t)
			g := l.start(w)
			total := sendGroups(t, g.gateway, l.now())
			w.until(func() bool { return w.global().Total == total }, "everything is published")
			l.pass(time.Minute)
			w.until(func() bool { return g.metric("folded") == 6 }, "what is final is folded")
			g.shutdown(t.Context())
			g.parts = nil
			require.True(t, l.disk.damage(t, prefix))

			after := newWall(t)
			next := l.start(after)
			after.until(func() bool { return after.global().Records > 0 }, "what is whole is there")
			assert.EqualValues(t, 1, next.metric("stored_damaged"))
			told := next.observed.logs.FilterMessage("Stored values were damaged and are set aside").All()
			require.Len(t, told, 1)
			assert.EqualValues(t, 1, told[0].ContextMap()["values"])
			for _, line := range next.observed.logs.All() {
				for _, v := range line.ContextMap() {
					if s, ok := v.(string); ok {
						assert.NotContains(t, s, prefix)
					}
				}
			}
			next.shutdown(t.Context())
			next.parts = nil

			again := l.start(newWall(t))
			assert.EqualValues(t, 0, again.metric("stored_damaged"), "it does no harm any more")
		})
	}
}
