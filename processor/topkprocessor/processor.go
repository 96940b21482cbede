package topkprocessor

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// instance is the processor of one pipeline. Each Consume extracts first, for a later consumer may change the records.
type instance struct {
	counter *counter
	changes bool        // it stamps records of this signal
	release func() bool // ends the use of the counter, and says whether it was the last
}

func (p *instance) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: p.changes}
}

func (p *instance) Start(ctx context.Context, host component.Host) error {
	return p.counter.start(ctx, host)
}

func (p *instance) Shutdown(ctx context.Context) error {
	if !p.release() {
		return nil
	}
	return p.counter.shutdown(ctx)
}

// pass a request on, and count what was found in it if and only if it was taken.
func (p *instance) pass(found *findings, next func() error) error {
	defer found.release()
	if err := found.err(); err != nil {
		return err
	}
	p.counter.partition.stamp(found, p.counter.now())
	if err := next(); err != nil {
		return err
	}
	p.counter.take(found)
	return nil
}

type logs struct {
	instance
	next consumer.Logs
}

func (p *logs) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	found, now := p.counter.logs.get(), p.counter.now().UnixNano()
	for i, l := range found.ledgers {
		l.rule.Logs(ld, now, &found.batches[i])
	}
	return p.pass(found, func() error { return p.next.ConsumeLogs(ctx, ld) })
}

type traces struct {
	instance
	next consumer.Traces
}

func (p *traces) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	found, now := p.counter.traces.get(), p.counter.now().UnixNano()
	for i, l := range found.ledgers {
		l.rule.Traces(td, now, &found.batches[i])
	}
	return p.pass(found, func() error { return p.next.ConsumeTraces(ctx, td) })
}

type metrics struct {
	instance
	next consumer.Metrics
}

func (p *metrics) ConsumeMetrics(ctx context.Context, md pmetric.Metrics) error {
	found, now := p.counter.metrics.get(), p.counter.now().UnixNano()
	for i, l := range found.ledgers {
		l.rule.Metrics(md, now, &found.batches[i])
	}
	return p.pass(found, func() error { return p.next.ConsumeMetrics(ctx, md) })
}
