package trendreceiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/receiver/trendreceiver/internal/metadata"
)

// logAgain is how long the same trouble is counted only.
const logAgain = time.Minute

// telemetry counts always and logs rarely. No line holds a record's data.
type telemetry struct {
	builder *metadata.TelemetryBuilder
	logger  *zap.Logger

	mu     sync.Mutex
	logged map[string]time.Time // by what was said, when last

	// Of the goroutine that publishes.
	failing map[string]bool   // by signal
	reached map[string]uint64 // by limit
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	builder, err := metadata.NewTelemetryBuilder(set)
	if err != nil {
		return nil, err
	}
	return &telemetry{
		builder: builder,
		logger:  set.Logger,
		logged:  map[string]time.Time{},
		failing: map[string]bool{},
		reached: map[string]uint64{},
	}, nil
}

func (t *telemetry) shutdown() { t.builder.Shutdown() }

// observe asks for the board's counts whenever metrics are read.
func (t *telemetry) observe(stats func() board.Stats) error {
	b := t.builder
	var errs []error
	for _, m := range []struct {
		register func(metric.Int64Callback) error
		value    func(board.Stats) int64
	}{
		{b.RegisterReceiverTrendAcceptedCallback, func(s board.Stats) int64 { return int64(s.Accepted + s.Stale) }},
		{b.RegisterReceiverTrendStaleCallback, func(s board.Stats) int64 { return int64(s.Stale) }},
		{b.RegisterReceiverTrendFoldedCallback, func(s board.Stats) int64 { return int64(s.Folded) }},
		{b.RegisterReceiverTrendEpochsCallback, func(s board.Stats) int64 { return int64(s.LiveEpochs) }},
		{b.RegisterReceiverTrendStatesCallback, func(s board.Stats) int64 { return int64(s.LiveStates) }},
		{b.RegisterReceiverTrendStateBytesCallback, func(s board.Stats) int64 { return s.LiveBytes }},
		{b.RegisterReceiverTrendRulesCallback, func(s board.Stats) int64 { return int64(s.Rules) }},
		{b.RegisterReceiverTrendGroupsCallback, func(s board.Stats) int64 { return int64(s.Groups) }},
		{b.RegisterReceiverTrendPartsCallback, func(s board.Stats) int64 { return int64(s.Parts) }},
		{b.RegisterReceiverTrendPartBytesCallback, func(s board.Stats) int64 { return s.PartBytes }},
	} {
		errs = append(errs, m.register(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(m.value(stats()))
			return nil
		}))
	}
	errs = append(errs, b.RegisterReceiverTrendLimitReachedCallback(func(_ context.Context, o metric.Int64Observer) error {
		for limit, n := range limited(stats()) {
			o.Observe(int64(n), metric.WithAttributes(attribute.String("limit", limit)))
		}
		return nil
	}))
	return errors.Join(errs...)
}

// limited counts what a limit turned away or left out.
func limited(s board.Stats) map[string]uint64 {
	return map[string]uint64{
		"max_groups": s.OverflowedGroups,
		"max_rules":  s.RefusedRules,
		"overload":   s.Overloaded,
		"parts":      s.GivenUpParts,
		"total":      s.Unmerged,
	}
}

// limits says which limits were reached since it was last asked.
func (t *telemetry) limits(s board.Stats) {
	for limit, n := range limited(s) {
		if n > t.reached[limit] {
			t.reached[limit] = n
			if t.due("limit " + limit) {
				t.logger.Warn("A limit is reached", zap.String("limit", limit), zap.Uint64("times", n))
			}
		}
	}
}

// refused counts every record that was not taken and says so once a minute for each reason.
func (t *telemetry) refused(ctx context.Context, r *refusals) {
	for reason, of := range r.byReason {
		t.builder.ReceiverTrendRefused.Add(ctx, of.n, metric.WithAttributes(attribute.String("reason", reason)))
		if t.due(reason) {
			t.logger.Warn("Records refused", zap.String("reason", reason), zap.Error(of.first))
		}
	}
}

// due says whether a line is to be written again.
func (t *telemetry) due(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if last, ok := t.logged[what]; ok && now.Sub(last) < logAgain {
		return false
	}
	t.logged[what] = now
	return true
}

// published tells how sending to one pipeline went: failures are counted, and told when they begin and when they end. Only
// one goroutine publishes.
func (t *telemetry) published(ctx context.Context, signal string, lists int, failures []error) {
	attr := metric.WithAttributes(attribute.String("signal", signal))
	t.builder.ReceiverTrendPublished.Add(ctx, int64(lists), attr)
	t.builder.ReceiverTrendPublishFailures.Add(ctx, int64(len(failures)), attr)
	switch {
	case len(failures) > 0 && !t.failing[signal]:
		t.failing[signal] = true
		t.logger.Warn("Publishing fails", zap.String("signal", signal), zap.Error(failures[0]))
	case len(failures) == 0 && lists > 0 && t.failing[signal]:
		t.failing[signal] = false
		t.logger.Info("Publishing works again", zap.String("signal", signal))
	}
}
