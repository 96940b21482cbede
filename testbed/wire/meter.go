// Package wire measures what states take on the wire: bytes that a shard sends to a gateway, before and after compression.
package wire

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/internal/wire/wirepb"
)

// meter counts what a gRPC server receives whose messages are the bytes of OTLP logs requests.
type meter struct{ requests, plain, final, sent, unread, largest atomic.Int64 }

// traffic is what a meter has counted, or counted in some time.
type traffic struct {
	requests int64
	plain    int64 // bytes of the requests before compression
	final    int64 // of them those of final states
	sent     int64 // bytes as they came: compressed, with gRPC's frames and headers, without those of TCP and TLS
	unread   int64 // requests that are no states
}

func (m *meter) read() traffic {
	return traffic{m.requests.Load(), m.plain.Load(), m.final.Load(), m.sent.Load(), m.unread.Load()}
}

func (t traffic) since(before traffic) traffic {
	return traffic{t.requests - before.requests, t.plain - before.plain, t.final - before.final, t.sent - before.sent, t.unread - before.unread}
}

// TagRPC implements stats.Handler.
func (m *meter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (m *meter) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.InHeader:
		m.sent.Add(int64(s.WireLength))
	case *stats.InPayload:
		m.requests.Add(1)
		m.plain.Add(int64(s.Length))
		m.sent.Add(int64(s.WireLength))
		if err := m.weigh(s.Payload); err != nil {
			m.unread.Add(1)
		}
	}
}

// weigh the states of a request: the final ones, and the largest of all.
func (m *meter) weigh(payload any) error {
	encoded, ok := payload.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message of bytes", payload)
	}
	request := plogotlp.NewExportRequest()
	if err := request.UnmarshalProto(*encoded); err != nil {
		return err
	}
	var sizer plog.ProtoMarshaler
	for _, rl := range request.Logs().ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			if sl.Scope().Name() != wire.ScopeState {
				continue
			}
			for _, lr := range sl.LogRecords().All() {
				state := new(wirepb.State)
				if err := proto.Unmarshal(lr.Body().Bytes().AsRaw(), state); err != nil {
					return err
				}
				size := int64(sizer.LogRecordSize(lr))
				if state.GetFinal() {
					m.final.Add(size)
				}
				m.largest.Store(max(m.largest.Load(), size)) // a shard sends one request at a time
			}
		}
	}
	return nil
}

// TagConn implements stats.Handler.
func (m *meter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (m *meter) HandleConn(context.Context, stats.ConnStats) {}
