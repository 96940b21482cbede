package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otel-topk/collector/testbed/generator"
)

// tally is what became of the records.
type tally struct {
	sent, failed int
	took         time.Duration
	lastErr      error
}

func (t tally) String() string {
	text := fmt.Sprintf("sent %d records in %.1fs, %.0f a second, %d failed", t.sent, t.took.Seconds(), float64(t.sent)/t.took.Seconds(), t.failed)
	if t.lastErr != nil {
		text += "; last: " + t.lastErr.Error()
	}
	return text
}

// run sends until ctx ends or the duration is over. A request that fails is counted and not sent again.
func run(ctx context.Context, opts options) (tally, error) {
	var t tally
	gen, err := generator.New(opts.generator)
	if err != nil {
		return t, err
	}
	conns := make([]*grpc.ClientConn, len(opts.endpoints))
	for i, endpoint := range opts.endpoints {
		conns[i], err = grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return t, err
		}
		defer conns[i].Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if opts.duration > 0 { // no deadline: gRPC would end the last request a moment before ctx has ended
		defer time.AfterFunc(opts.duration, cancel).Stop()
	}
	start := time.Now()
	pace := pacer{rate: opts.rate, last: start}
	for request := 0; pace.wait(ctx, opts.batch) == nil; request++ {
		conn := conns[request/len(opts.signals)%len(conns)]
		err := send(ctx, conn, gen, opts.signals[request%len(opts.signals)], opts.batch)
		switch {
		case err == nil:
			t.sent += opts.batch
		case ctx.Err() == nil:
			t.failed += opts.batch
			t.lastErr = err
		}
	}
	t.took = time.Since(start)
	return t, nil
}

func send(ctx context.Context, conn *grpc.ClientConn, gen *generator.Generator, signal string, n int) error {
	if signal == "traces" {
		req := ptraceotlp.NewExportRequestFromTraces(gen.Traces(n, time.Now(), nil))
		_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, req, grpc.WaitForReady(true))
		return err
	}
	req := plogotlp.NewExportRequestFromLogs(gen.Logs(n, time.Now(), nil))
	_, err := plogotlp.NewGRPCClient(conn).Export(ctx, req, grpc.WaitForReady(true))
	return err
}
