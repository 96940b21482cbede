// Package archived reads archives whole, as their users do: every file that is listed must be one.
package archived

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/testbed/collector"
)

// Open an archive until the test ends.
func Open(t testing.TB, url string) *archive.Store {
	t.Helper()
	store, err := archive.OpenStore(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// Read hands over every file of a signal. A listed file that is not whole is an error.
func Read(ctx context.Context, store *archive.Store, signal string, each func(archive.File, *archive.Reader) error) error {
	files, foreign, err := store.Files(ctx, signal, archive.HourOf(0), archive.HourOf(math.MaxInt64))
	if err != nil {
		return err
	}
	if len(foreign) > 0 {
		return fmt.Errorf("files that are none of records: %q", foreign)
	}
	for _, file := range files {
		if err := read(ctx, store, file, each); err != nil {
			return fmt.Errorf("%s: %w", file.Path(), err)
		}
	}
	return nil
}

func read(ctx context.Context, store *archive.Store, file archive.File, each func(archive.File, *archive.Reader) error) error {
	object, err := store.Open(ctx, file.Path())
	if err != nil {
		return err
	}
	defer object.Close()
	reader, err := archive.NewReader(object)
	if err != nil {
		return err
	}
	return each(file, reader)
}

// Records of a signal.
func Records(ctx context.Context, store *archive.Store, signal string) (n int64, err error) {
	err = Read(ctx, store, signal, func(_ archive.File, r *archive.Reader) error {
		n += r.Rows()
		return nil
	})
	return n, err
}

// LogsOf hands over every log record of a file, whole.
func LogsOf(ctx context.Context, file archive.File, r *archive.Reader, each func(archive.File, plog.LogRecord)) error {
	rows := int64(0)
	for batch, err := range r.Batches(ctx, rule.Needs{Whole: true}) {
		if err != nil {
			return err
		}
		for _, rl := range batch.Logs.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					each(file, record)
					rows++
				}
			}
		}
	}
	if rows != r.Rows() {
		return fmt.Errorf("%d records, not %d", rows, r.Rows())
	}
	return nil
}

// Await until an archive holds n records of a signal.
func Await(t testing.TB, store *archive.Store, signal string, n int64) {
	t.Helper()
	var found int64
	collector.AwaitFor(t, time.Minute, func() bool {
		var err error
		found, err = Records(t.Context(), store, signal)
		require.NoError(t, err)
		return found >= n
	}, func() string { return fmt.Sprintf("an archive of %d of %d records", found, n) })
	require.Equal(t, n, found, "records in the archive")
}
