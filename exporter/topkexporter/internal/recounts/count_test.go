package recounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
)

// ruleOf tenants, and an order of its first hour.
func ruleOf(t *testing.T) (map[string]*rule.Rule, *Order) {
	c := rule.NewDefaultConfig()
	c.Name, c.Key = "tenants", []string{`log.attributes["tenant.id"]`}
	r, err := rule.New(c, 0, "", componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	return map[string]*rule.Rule{c.Name: r}, &Order{
		Rule: c.Name, Fingerprint: r.Definition().Fingerprint(), K: 1, Parts: 1, From: time.Unix(0, 0).UTC(), To: time.Unix(3600, 0).UTC(),
	}
}

func counted(t *testing.T, store *archive.Store) error {
	rules, order := ruleOf(t)
	_, err := Count(t.Context(), store, rules, recount.Options{Memory: recount.MinMemory}, order, func(float64, int64) {})
	return err
}

func TestACountThatFailsNamesTheArchiveAndTheWayOn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "archive")
	store, err := archive.OpenStore(t.Context(), "file://"+root)
	require.NoError(t, err)
	defer store.Close()
	none := "the archive has no file in the range: file://" + root + " from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z"
	assert.EqualError(t, counted(t, store), none+"; there is no such folder or bucket")

	put := func(path string) {
		_, err := store.Put(t.Context(), path, func(w io.Writer) error { _, err := io.WriteString(w, "PAR1"); return err })
		require.NoError(t, err)
	}
	put("traces/README")
	err = counted(t, store)
	require.EqualError(t, err, none)
	require.ErrorIs(t, err, recount.ErrNoArchive)

	path := "logs/year=1970/month=01/day=01/hour=00/_SUCCESS"
	put(path)
	err = counted(t, store)
	assert.EqualError(t, err, path+": not a file of this archive; recount.skip_damaged: true leaves such files out, and names them")
	assert.ErrorIs(t, err, archive.ErrForeign)
}

func TestTheCauseOfAFailureHoldsNothingOfARecord(t *testing.T) {
	for want, err := range map[string]error{
		"no file in the range": fmt.Errorf("secret: %w", recount.ErrNoArchive),
		"damaged file":         fmt.Errorf("secret: %w", archive.ErrDamaged),
		"foreign file":         fmt.Errorf("secret: %w", archive.ErrForeign),
		"canceled":             fmt.Errorf("secret: %w", context.DeadlineExceeded),
		"rule changed":         fmt.Errorf("secret: %w", errChanged),
		"archive or disk":      errors.New("secret"),
	} {
		synctest.Test(t, func(t *testing.T) {
			said, g, cause := &told{}, newGate(), ""
			q := queueOf(newKept(), g.count, said, func(o *Options) { o.Ended = func(_ Job, e Effort) { cause = e.Cause } })
			_, failed := q.Submit(t.Context(), Order{})
			require.NoError(t, failed)
			g.ends <- err
			synctest.Wait()
			assert.Equal(t, want, cause)
			_, failed = q.Submit(t.Context(), Order{})
			require.NoError(t, failed)
			g.ends <- nil
			synctest.Wait()
			assert.Empty(t, cause, "nothing failed")
			require.NoError(t, q.Close(t.Context()))
		})
	}
}
