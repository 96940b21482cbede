package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
)

// errAllLeftOut is of a range of which nothing was counted though there is something.
var errAllLeftOut = errors.New("every file of the range is damaged or foreign: nothing is counted")

// blamed is err of a count with what helps the one who asked.
func (a *asked) blamed(ctx context.Context, store *archive.Store, err error) error {
	switch {
	case errors.Is(err, recount.ErrNoArchive):
		err = fmt.Errorf("%w: %s from %s to %s%s", err, store.Name(),
			a.question.From.Format(time.RFC3339Nano), a.question.To.Format(time.RFC3339Nano), whyEmpty(ctx, store))
	case errors.Is(err, archive.ErrDamaged), errors.Is(err, archive.ErrForeign):
		err = fmt.Errorf("%w; --skip-damaged counts the rest and names what it leaves out", err)
	}
	return err
}

// whyEmpty is a reason that a file that is looked for is not there; "": none is known.
func whyEmpty(ctx context.Context, store *archive.Store) string {
	if there, err := store.Exists(ctx); err != nil || !there {
		if err != nil {
			return ""
		}
		return "; there is no such folder or bucket"
	}
	for _, signal := range []string{rule.SignalLogs, rule.SignalTraces} {
		if entries, err := store.List(ctx, signal+"/"); err != nil || len(entries) > 0 {
			return ""
		}
	}
	return "; it has neither logs/ nor traces/: --archive is what parquet exporters have as archive, the folder above those"
}

// isFolder says what is wrong with a directory that was asked for; "" is the system's.
func isFolder(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: %s is no folder that is there", flag, path)
	}
	return nil
}
