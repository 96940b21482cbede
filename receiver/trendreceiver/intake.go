package trendreceiver

import (
	"context"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/board"
	"github.com/otel-topk/collector/internal/wire"
)

// consume takes the states of one request, and answers when they are stored. Every record is taken or refused for itself; the
// answer says why the first were refused, as InvalidArgument, or as ResourceExhausted with RetryInfo if trying again may
// help. What cannot be stored is counted, and answered as Unavailable with RetryInfo.
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
	err := t.change(ctx, func(b *board.Board) {
		t.store(b, messages, positions, &refused)
	})
	t.telemetry.refused(ctx, &refused)
	if err != nil {
		return notStored(ctx)
	}
	return refused.status(ld.LogRecordCount())
}

func (t *trend) store(b *board.Board, messages []wire.Message, positions []int, refused *refusals) {
	if len(messages) == 0 {
		return
	}
	now := t.now().UnixNano()
	for i, m := range messages {
		var err error
		switch m := m.(type) {
		case *wire.Report:
			err = b.Report(m, now)
		case *wire.State:
			err = b.Accept(m, now)
		}
		if err != nil {
			refused.add(positions[i], err)
		}
	}
	select {
	case t.first <- struct{}{}:
	default:
	}
}
