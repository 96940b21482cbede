package trendreceiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
)

// consume takes the states of one request. Every record is taken or refused for itself; the answer says why the first were
// refused, as InvalidArgument, or as ResourceExhausted with RetryInfo if trying again may help.
func (t *trend) consume(ctx context.Context, ld plog.Logs) error {
	var refused refusals
	messages := make([]wire.Message, 0, ld.LogRecordCount())
	positions := make([]int, 0, cap(messages))
	for m, err := range wire.Messages(ld) {
		position := len(messages) + refused.n
		if err != nil {
			refused.add(position, err)
			continue
		}
		if st, ok := m.(*wire.State); ok {
			st.Summary = nil // it was checked; what is kept is its encoding, which is far smaller
		}
		messages = append(messages, m)
		positions = append(positions, position)
	}
	t.store(messages, positions, &refused)
	if len(messages) > 0 {
		select {
		case t.first <- struct{}{}:
		default:
		}
	}
	t.telemetry.refused(ctx, &refused)
	return refused.status(ld.LogRecordCount())
}

func (t *trend) store(messages []wire.Message, positions []int, refused *refusals) {
	now := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range messages {
		var err error
		switch m := m.(type) {
		case *wire.Report:
			err = t.board.Report(m, now)
		case *wire.State:
			err = t.board.Accept(m, now)
		}
		if err != nil {
			refused.add(positions[i], err)
		}
	}
}
