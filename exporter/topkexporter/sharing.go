package topkexporter

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/shared"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// sharing is what the exporter has to do with Redis: it writes lists there, or reads them. nil: nothing.
type sharing struct {
	writer *shared.Writer // nil: it reads
	reader *shared.Reader
}

// firstRead is how long a reader waits for what is there before it serves.
const firstRead = 10 * time.Second

// share begins, if it is configured.
func (e *topkExporter) share(ctx context.Context, host component.Host) (err error) {
	if !e.config.Redis.HasValue() {
		return nil
	}
	config, s := e.config.Redis.Get(), &sharing{}
	log := shared.Log{
		Refused: e.telemetry.sharedRefused,
		Failing: func(err error) {
			e.telemetry.sharing(err)
			if err != nil {
				componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(fmt.Errorf("redis: %w", err)))
			} else {
				componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusOK))
			}
		},
	}
	if config.Read {
		if s.reader, err = shared.NewReader(ctx, config, e.takeShared, log); err != nil {
			return err
		}
		e.sharing = s
		select {
		case <-s.reader.First():
		case <-ctx.Done():
		case <-time.After(firstRead):
		}
	} else {
		if s.writer, err = shared.NewWriter(ctx, config, func() { s.putAll(e.store) }, log); err != nil {
			return err
		}
		e.sharing, e.store.shared = s, s.put
	}
	return e.telemetry.observeSharing(s)
}

func (s *sharing) health() *shared.Health {
	if s.reader != nil {
		return &s.reader.Health
	}
	return &s.writer.Health
}

func (s *sharing) close(ctx context.Context) error {
	switch {
	case s == nil:
		return nil
	case s.reader != nil:
		return s.reader.Close(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return s.writer.Close(ctx)
}

// put what was published. Lists that gave way to others stay in Redis until they expire.
func (s *sharing) put(c *catalog, touched map[ruleList]struct{}) {
	for at := range touched {
		if r := c.rules[at.rule]; r != nil && r.lists[at.listID] != nil {
			s.putList(r.lists[at.listID])
		}
	}
}

// putAll puts every list, for a server that may have none.
func (s *sharing) putAll(of *store) {
	of.writing.Lock() // so that none takes the place of a newer one
	defer of.writing.Unlock()
	for _, r := range of.catalog().rules {
		for _, l := range r.lists {
			s.putList(l)
		}
	}
}

func (s *sharing) putList(l *list) {
	name := shared.Name{Rule: l.Rule.Name, Window: l.Window, Group: l.Group}
	s.writer.Put(name, func() (*shared.List, error) { return encodeShared(l) })
}

// encodeShared makes what is written of a list: the answer of the API, and what a reader's store takes.
func encodeShared(l *list) (*shared.List, error) {
	s := selection{rule: &ruleLists{definition: l.Rule}, window: window.Name(l.Window), group: l.Group, list: l}
	ld := plog.NewLogs()
	wire.AppendSnapshot(ld, l.Snapshot)
	if l.summary != nil {
		w := &wire.WindowSummary{Rule: l.keyed, Window: l.Window, Group: l.Group, AsOf: l.AsOf, Summary: l.summary}
		if _, err := wire.AppendWindowSummary(ld, w); err != nil {
			return nil, err
		}
	}
	publication, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	if err != nil {
		return nil, err
	}
	out := &shared.List{
		Total: l.Total, AsOf: l.AsOf, JSON: newJSON(s.trend(l.List.K), cacheLists).body, Publication: publication,
		Items: make([]redis.Z, len(l.List.Items)),
	}
	for i := range l.List.Items {
		out.Items[i] = redis.Z{Score: float64(l.List.Items[i].Estimate), Member: l.List.Items[i].Key}
	}
	return out, nil
}

// takeShared takes publications that other exporters wrote.
func (e *topkExporter) takeShared(ctx context.Context, publications [][]byte) {
	all := plog.NewLogs()
	for _, b := range publications {
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(b)
		if err != nil {
			e.telemetry.unreadable(ctx, err)
			continue
		}
		ld.ResourceLogs().MoveAndAppendTo(all.ResourceLogs())
	}
	if err := e.consumeLogs(ctx, all); err != nil {
		e.telemetry.logger.Error("Some of what Redis holds is no list", zap.Error(err))
	}
}
