package topkexporter

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
)

// newExact is what closes hours. Rules over data points have none.
func (r *recounting) newExact(s *store, host component.Host) *exact.Exact {
	o := exact.Options{
		Store: r.store, Count: r.countHour, Served: servedHistory{s}, Storage: jobStorage{s}, Logger: r.telemetry.logger, Now: time.Now,
		Grace: r.config.Grace, Keep: r.config.KeepTables, Directory: r.config.Directory,
		Report: func(err error) {
			if err != nil {
				componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(err))
			} else {
				componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusOK))
			}
		},
	}
	for _, name := range r.names {
		if countable(r.rules[name]) {
			o.Rules = append(o.Rules, r.rules[name])
		}
	}
	return exact.New(o)
}

// countHour counts an hour of a rule in some files, all keys of all groups.
func (r *recounting) countHour(ctx context.Context, of *rule.Rule, at archive.Hour, files []archive.File) (*exact.Counted, error) {
	counts, err := recount.Count(ctx, chosenFiles{r.store, files}, recount.Question{Rule: of, From: at.Start(), To: (at + 1).Start()}, r.config.counting())
	if err != nil {
		return nil, err
	}
	return &exact.Counted{Rows: counts.Rows(), Skipped: counts.Skipped, LeftOut: counts.LeftOut, Close: counts.Close}, nil
}

// chosenFiles are what there is of records in an archive, whatever came or went since they were listed.
type chosenFiles struct {
	*archive.Store
	files []archive.File
}

// Files that were chosen, and what else lies between them.
func (c chosenFiles) Files(ctx context.Context, signal string, from, to archive.Hour) ([]archive.File, []string, error) {
	_, foreign, err := c.Store.Files(ctx, signal, from, to)
	return slices.DeleteFunc(slices.Clone(c.files), func(f archive.File) bool {
		return f.Signal != signal || f.Hour < from || f.Hour >= to
	}), foreign, err
}
