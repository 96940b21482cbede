package trendreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otel-topk/collector/internal/uplink"
)

// observeAscent asks for what became of what goes up to some gateways whenever metrics are read; nil: nothing goes up, and they count
// as down.
func (t *telemetry) observeAscent(a *ascent, gateways int) error {
	b := t.builder
	if a == nil {
		return b.RegisterReceiverTrendGatewayUpCallback(func(_ context.Context, o metric.Int64Observer) error {
			for i := range gateways {
				o.Observe(0, metric.WithAttributes(attribute.Int("gateway", i)))
			}
			return nil
		})
	}
	each := func(read func(s *uplink.Sender) int64) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			for _, s := range a.senders {
				o.Observe(read(s), metric.WithAttributes(gatewayAttr(s)))
			}
			return nil
		}
	}
	return errors.Join(
		b.RegisterReceiverTrendGatewayUpCallback(each(func(s *uplink.Sender) int64 { return int64(number(!s.Stats.Down.Load())) })),
		b.RegisterReceiverTrendFinalsPendingCallback(each(func(s *uplink.Sender) int64 {
			n, _ := a.pending.Count(s.Index)
			return int64(n)
		})),
		b.RegisterReceiverTrendSentBytesCallback(each(func(s *uplink.Sender) int64 { return int64(s.Stats.Bytes.Load()) })),
		b.RegisterReceiverTrendStatesSentCallback(each(func(s *uplink.Sender) int64 { return int64(s.Stats.States.Load()) })),
		b.RegisterReceiverTrendPendingBytesCallback(func(_ context.Context, o metric.Int64Observer) error {
			_, bytes := a.pending.Count(0)
			o.Observe(bytes)
			return nil
		}),
		b.RegisterReceiverTrendRequestsCallback(a.observeRequests),
		b.RegisterReceiverTrendFinalsDroppedCallback(a.observeDropped),
		b.RegisterReceiverTrendStatesRefusedCallback(a.observeRefused),
	)
}

func gatewayAttr(s *uplink.Sender) attribute.KeyValue { return attribute.Int("gateway", s.Index) }

func (a *ascent) observeRequests(_ context.Context, o metric.Int64Observer) error {
	for _, s := range a.senders {
		for outcome, n := range map[string]uint64{"answered": s.Stats.Answered.Load(), "failed": s.Stats.Failed.Load(), "refused": s.Stats.Refused.Load()} {
			o.Observe(int64(n), metric.WithAttributes(gatewayAttr(s), attribute.String("outcome", outcome)))
		}
	}
	return nil
}

func (a *ascent) observeDropped(_ context.Context, o metric.Int64Observer) error {
	for _, s := range a.senders {
		for reason := range uplink.DropReasons {
			for name, n := range a.pending.Dropped[s.Index][reason].All(nil) {
				o.Observe(int64(n), metric.WithAttributes(gatewayAttr(s), attribute.String("rule", name), attribute.String("reason", uplink.DropReason(reason))))
			}
		}
	}
	return nil
}

func (a *ascent) observeRefused(_ context.Context, o metric.Int64Observer) error {
	for _, s := range a.senders {
		for name, n := range s.Stats.StatesRefused.All(nil) {
			o.Observe(int64(n), metric.WithAttributes(gatewayAttr(s), attribute.String("rule", name)))
		}
	}
	return nil
}
