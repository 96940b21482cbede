package topkprocessor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/topk"
)

// maxListBytes of an answer: 500 items of the longest keys, escaped, fit.
const maxListBytes = 64 << 20

// lists finds hot keys in the list that a topk exporter serves.
type lists struct {
	cfg   *Lists
	url   string
	share float64
	found func(keys []string)
	set   component.TelemetrySettings

	client   *http.Client
	failures atomic.Uint64
}

func newLists(cfg *Lists, d *rule.Definition, share float64, found func([]string), set component.TelemetrySettings) *lists {
	query := url.Values{"rule": {d.Name}, "k": {strconv.Itoa(min(d.K, most(share)))}}
	return &lists{
		cfg: cfg, url: strings.TrimSuffix(cfg.Endpoint, "/") + "/v1/trending?" + query.Encode(),
		share: share, found: found, set: set,
	}
}

func (l *lists) connect(ctx context.Context, host component.Host) (err error) {
	if l.client, err = l.cfg.ToClient(ctx, host.GetExtensions(), l.set); err != nil {
		return fmt.Errorf("partition.lists: %w", err)
	}
	return nil
}

// keepUp asks every interval until ctx ends. While there is no answer the last one holds.
func (l *lists) keepUp(ctx context.Context) {
	defer l.client.CloseIdleConnections()
	ticker := time.NewTicker(l.cfg.Interval)
	defer ticker.Stop()
	for down := false; ; {
		keys, known, err := l.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			l.failures.Add(1)
			if !down {
				l.set.Logger.Warn("The list of hot keys cannot be read; the last one holds", zap.Error(err))
			}
		case down:
			l.set.Logger.Info("The list of hot keys can be read again")
		}
		if down = err != nil; known {
			l.found(keys)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ask for the hot keys; they are not known where nothing was published.
func (l *lists) ask(ctx context.Context) (keys []string, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, http.NoBody)
	if err != nil {
		return nil, false, err
	}
	answer, err := l.client.Do(request)
	if err != nil {
		return nil, false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, false, fmt.Errorf("%s answered %s", l.cfg.Endpoint, answer.Status)
	}
	var list struct {
		AsOf  *time.Time  `json:"as_of"`
		Total uint64      `json:"total"`
		Items []topk.Item `json:"items"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxListBytes)).Decode(&list); err != nil {
		return nil, false, fmt.Errorf("%s answered no list: %w", l.cfg.Endpoint, err)
	}
	return hottest(list.Items, list.Total, l.share), list.AsOf != nil, nil
}
