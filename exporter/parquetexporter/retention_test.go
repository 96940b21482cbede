package parquetexporter

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

func TestFilesOlderThanKeepAreDeletedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		store := p.store(t)
		defer store.Close()
		now := archive.HourOf(time.Now().UnixNano())
		put := func(path string) {
			_, err := store.Put(context.Background(), path, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err })
			require.NoError(t, err)
		}
		for _, signal := range signals {
			for _, age := range []archive.Hour{0, 1, 2, 3, 4, 5, 24, 9999} {
				put(archive.File{Signal: signal, Hour: now - age, Name: archive.FileName("b", "0123456789abcdef")}.Path())
			}
		}
		old := (now - 9999).Start().Format("year=2006/month=01/day=02/hour=15/")
		put("logs/" + old + "notes.txt")
		put("tables/" + old + "x.parquet")
		hours := func(signal string) (left []archive.Hour) {
			files, _, err := store.Files(context.Background(), signal, 0, now+1)
			require.NoError(t, err)
			for _, f := range files {
				left = append(left, now-f.Hour)
			}
			return left
		}

		m := run(t, p.config(t, map[string]any{"keep": "3h"}))
		synctest.Wait()
		for _, signal := range signals {
			assert.Equal(t, []archive.Hour{3, 2, 1, 0}, hours(signal), "an hour that ended three hours ago or less is kept")
		}
		assert.EqualValues(t, 8, m.gauge(t, "deleted_files"))
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		assert.Equal(t, []archive.Hour{1, 0}, hours(rule.SignalLogs))
		assert.EqualValues(t, 12, m.gauge(t, "deleted_files"))
		m.end(t)
		for _, path := range []string{"logs/" + old + "notes.txt", "tables/" + old + "x.parquet"} {
			_, err := os.Stat(filepath.Join(p.archive, path))
			assert.NoError(t, err)
		}
	})
}

func TestABucketThatDeletesNothingIsToldAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		store := p.store(t)
		defer store.Close()
		_, err := store.Put(context.Background(), archive.File{Signal: rule.SignalLogs, Name: archive.FileName("b", "0123456789abcdef")}.Path(),
			func(io.Writer) error { return nil })
		require.NoError(t, err)
		var o outage
		o.down.Store(true)
		m := run(t, p.config(t, map[string]any{"keep": "2160h"}), faulty(o.fault))
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		assert.Equal(t, 2, m.logs.FilterMessageSnippet("Files older than keep could not all be deleted").Len())
		o.down.Store(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.EqualValues(t, 1, m.gauge(t, "deleted_files"))
		m.end(t)
	})
}
