package collector

import (
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	_ "go.opentelemetry.io/collector/config/configgrpc" // has every way that exporters compress in
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Sink is a gRPC server that takes every OTLP request and keeps its bytes as they arrived. An empty message is a good
// answer of any of the three services.
type Sink struct {
	mu       sync.Mutex
	requests map[string][][]byte // by the method called
	refusals int
}

// NewSink listens at address until the test ends.
func NewSink(t testing.TB, address string) *Sink {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := &Sink{requests: make(map[string][][]byte)}
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.UnknownServiceHandler(s.handle))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s
}

// Refuse the next n requests for good.
func (s *Sink) Refuse(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = n
}

// Requests that a method was called with, in the order of their arrival.
func (s *Sink) Requests(method string) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[method]
}

func (s *Sink) handle(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if err := s.keep(stream, request); err != nil {
		return err
	}
	return stream.SendMsg(&[]byte{})
}

func (s *Sink) keep(stream grpc.ServerStream, request []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusals > 0 {
		s.refusals--
		return status.Error(codes.InvalidArgument, "refused by the test")
	}
	method, _ := grpc.MethodFromServerStream(stream)
	s.requests[method] = append(s.requests[method], request)
	return nil
}

// rawCodec leaves messages as bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no message of bytes", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no message of bytes", v)
	}
	*b = data.Materialize()
	return nil
}
