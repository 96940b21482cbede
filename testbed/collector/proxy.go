package collector

import (
	"context"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Proxy is a gRPC server before another one, and does to requests what networks do. A new one passes everything on.
type Proxy struct {
	to *Sender

	mu     sync.Mutex
	rng    *rand.Rand
	faulty bool
	deaf   bool
	held   []request
	counts map[string]int
}

type request struct {
	method string
	body   []byte
}

// mostHeld is how many requests are held back at a time.
const mostHeld = 200

// NewProxy listens at address until the test ends and passes on to the server at to. Options are of the gRPC server that it is.
func NewProxy(t testing.TB, address, to string, seed uint64, options ...grpc.ServerOption) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	p := &Proxy{to: NewSender(t, to), rng: rand.New(rand.NewPCG(seed, 0)), counts: make(map[string]int)}
	options = append(options, grpc.ForceServerCodecV2(rawCodec{}), grpc.UnknownServiceHandler(p.handle), grpc.MaxRecvMsgSize(64<<20))
	server := grpc.NewServer(options...)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return p
}

// Faulty requests are dropped, delayed, repeated, delivered long after newer ones, or delivered and answered by an error: one of
// each ten each.
func (p *Proxy) Faulty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faulty = true
}

// Quiet delivers what is held back, and passes everything on from now on.
func (p *Proxy) Quiet(ctx context.Context) {
	p.mu.Lock()
	held := p.held
	p.faulty, p.held = false, nil
	p.mu.Unlock()
	for _, r := range held {
		_ = p.deliver(ctx, r) // refused or not: whoever sent it was told that it failed
	}
}

// Deaf makes it take requests and neither deliver nor answer them; Deaf(false) ends that.
func (p *Proxy) Deaf(deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = deaf
}

// Counts of what became of requests, by name.
func (p *Proxy) Counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

var errFaulty = status.Error(codes.Unavailable, "the network failed")

func (p *Proxy) handle(_ any, stream grpc.ServerStream) error {
	r := request{}
	if err := stream.RecvMsg(&r.body); err != nil {
		return err
	}
	r.method, _ = grpc.MethodFromServerStream(stream)
	if err := p.pass(stream.Context(), r); err != nil {
		return err
	}
	return stream.SendMsg(&[]byte{})
}

func (p *Proxy) deliver(ctx context.Context, r request) error { return p.to.Raw(ctx, r.method, r.body) }

// pass a request on, or do something else to it.
func (p *Proxy) pass(ctx context.Context, r request) error {
	fate, delay, old := p.draw(r)
	if old != nil {
		_ = p.deliver(ctx, *old) // its sender was told long ago that it failed
	}
	switch fate {
	case "deaf":
		<-ctx.Done()
		return ctx.Err()
	case "dropped", "held":
		return errFaulty
	case "delayed":
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(delay):
		}
	case "repeated":
		_ = p.deliver(ctx, r)
	case "lied":
		_ = p.deliver(ctx, r)
		return errFaulty
	}
	return p.deliver(ctx, r)
}

// draw what becomes of a request, and one that was held back to be delivered before it.
func (p *Proxy) draw(r request) (fate string, delay time.Duration, old *request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fate = "passed"
	switch {
	case p.deaf:
		fate = "deaf"
	case p.faulty:
		fates := []string{"dropped", "delayed", "repeated", "held", "lied"}
		if i := p.rng.IntN(10); i < len(fates) {
			fate = fates[i]
		}
		delay = time.Duration(p.rng.Int64N(int64(300 * time.Millisecond)))
		if n := len(p.held); n > 0 && (n >= mostHeld || p.rng.IntN(20) == 0) {
			i := p.rng.IntN(n)
			old = new(request)
			*old, p.held[i] = p.held[i], p.held[n-1]
			p.held = p.held[:n-1]
		}
		if fate == "held" {
			p.held = append(p.held, r)
		}
	}
	p.counts[fate]++
	return fate, delay, old
}
