package trendreceiver

import (
	"context"
	"errors"
	"maps"
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
	failing map[string]bool  // by signal
	reached map[limit]uint64 // when it was last looked at
	damaged uint64           // stored values, when it was last told
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
		{b.RegisterReceiverTrendSupersededCallback, func(s board.Stats) int64 { return int64(s.Superseded) }},
		{b.RegisterReceiverTrendEpochsCallback, func(s board.Stats) int64 { return int64(s.LiveEpochs) }},
		{b.RegisterReceiverTrendStatesCallback, func(s board.Stats) int64 { return int64(s.LiveStates) }},
		{b.RegisterReceiverTrendStateBytesCallback, func(s board.Stats) int64 { return s.LiveBytes }},
		{b.RegisterReceiverTrendRulesCallback, func(s board.Stats) int64 { return int64(s.Rules) }},
		{b.RegisterReceiverTrendGroupsCallback, func(s board.Stats) int64 { return int64(s.Groups) }},
		{b.RegisterReceiverTrendListBytesCallback, func(s board.Stats) int64 { return s.ListBytes }},
		{b.RegisterReceiverTrendPartsCallback, func(s board.Stats) int64 { return int64(s.Parts) }},
		{b.RegisterReceiverTrendPartBytesCallback, func(s board.Stats) int64 { return s.PartBytes }},
	} {
		errs = append(errs, m.register(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(m.value(stats()))
			return nil
		}))
	}
	errs = append(errs, b.RegisterReceiverTrendLimitReachedCallback(func(_ context.Context, o metric.Int64Observer) error {
		for l, n := range reached(stats()) {
			o.Observe(int64(n), metric.WithAttributes(attribute.String("limit", l.name), attribute.String("rule", l.rule)))
		}
		return nil
	}))
	return errors.Join(errs...)
}

// observeStorage asks for what is known of the storage whenever metrics are read.
func (t *telemetry) observeStorage(s *storage) error {
	b := t.builder
	return errors.Join(
		b.RegisterReceiverTrendStorageUpCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(number(s.up())))
			return nil
		}),
		b.RegisterReceiverTrendStoredDamagedCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(s.damaged()))
			return nil
		}),
	)
}

// bounded tells how much memory the board and sending to gateways take at most, and of which limits that is.
func (t *telemetry) bounded(cfg board.Config, uplink int64) {
	m := board.MemoryOf(cfg)
	t.logger.Info("Merging",
		zap.Int("max_rules", cfg.MaxRules), zap.Int("max_groups", cfg.MaxGroups), zap.Int("max_shards", cfg.MaxEpochs), zap.Int("windows", len(cfg.Windows)),
		zap.Int64("memory_bound_bytes", m.Total()+uplink),
		zap.Int64("states_bytes", m.States), zap.Int64("lists_bytes", m.Lists), zap.Int64("parts_bytes", m.Parts),
		zap.Int64("shards_bytes", m.Shards+m.Identities), zap.Int64("rules_bytes", m.Rules+m.Coverage), zap.Int64("scratch_bytes", m.Scratch),
		zap.Int64("uplink_bytes", uplink))
}

// restored tells what the process before left.
func (t *telemetry) restored(s board.Stats) {
	t.logger.Info("Restored what the process before left",
		zap.Int("rules", s.Rules), zap.Int("groups", s.Groups), zap.Int("shards", s.LiveEpochs), zap.Int("states", s.LiveStates), zap.Int("parts", s.Parts),
		zap.Uint64("unreadable", s.Unreadable), zap.Uint64("unfit", s.Unfit))
}

// storageClosed tells that the storage is not used until the next start.
func (t *telemetry) storageClosed(err error) {
	t.logger.Error("The storage cannot be used: what is answered is lost with this process", zap.Error(err))
}

// staysBelow tells that this gateway is no shard of its gateways until the next start.
func (t *telemetry) staysBelow() {
	t.logger.Error("Nothing goes up to gateways: without the storage it would count twice there")
}

// committed counts a write to the storage.
func (t *telemetry) committed(ctx context.Context, took time.Duration, err error) {
	t.builder.ReceiverTrendCommitDuration.Record(ctx, took.Seconds())
	if err != nil {
		t.builder.ReceiverTrendStorageFailures.Add(ctx, 1)
	}
}

// storing tells that the storage began to fail, or that it works again.
func (t *telemetry) storing(err error) {
	if err != nil {
		t.logger.Error("The storage takes nothing: shards are told to come again, and lists go on from memory", zap.Error(err))
	} else {
		t.logger.Info("The storage works again")
	}
}

// anew tells of rules that are counted from the beginning, as their definition changed.
func (t *telemetry) anew(rules []string) {
	for _, rule := range rules {
		if t.due("anew " + rule) {
			t.logger.Info("A rule starts anew: its definition is not the one of before", zap.String("rule", rule))
		}
	}
}

// damage tells of stored values that were set aside; n is how many there were so far.
func (t *telemetry) damage(n uint64) {
	if n > t.damaged && t.due("damage") {
		t.damaged = n
		t.logger.Error("Stored values were damaged and are set aside", zap.Uint64("values", n))
	}
}

// limit that was reached; rule is empty where it is not of one rule.
type limit struct{ name, rule string }

// reached counts what each limit turned away or left out.
func reached(s board.Stats) map[limit]uint64 {
	counts := map[limit]uint64{
		{name: "max_rules"}:       s.RefusedRules,
		{name: "max_lists_size"}:  s.CrowdedRules,
		{name: "overload"}:        s.Overloaded,
		{name: "parts"}:           s.GivenUpParts,
		{name: "total"}:           s.Unmerged,
		{name: "state_size"}:      s.Oversized,
		{name: "max_states_size"}: s.HeldBack,
		{name: "told_rules"}:      s.Untold,
	}
	for rule, n := range s.OverflowedGroups {
		counts[limit{"max_groups", rule}] = n
	}
	for rule, n := range s.CrowdedGroups {
		counts[limit{"max_lists_size", rule}] = n
	}
	return counts
}

// limits says which limits were reached since it was last asked.
func (t *telemetry) limits(s board.Stats) {
	now := reached(s)
	for l, n := range now {
		if n > t.reached[l] && t.due("limit "+l.name+" "+l.rule) {
			t.logger.Warn("A limit is reached", zap.String("limit", l.name), zap.String("rule", l.rule), zap.Uint64("times", n))
		}
	}
	t.reached = now
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
	maps.DeleteFunc(t.logged, func(_ string, last time.Time) bool { return now.Sub(last) >= logAgain })
	if _, ok := t.logged[what]; ok {
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
