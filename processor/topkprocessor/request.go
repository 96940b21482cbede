package topkprocessor

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otel-topk/collector/internal/wire"
)

const (
	maxRequest = 2 << 20 // bytes before compression at which requests are split
	maxRetry   = time.Minute
)

// outgoing is a state to send.
type outgoing struct {
	state    wire.State
	overhead int    // as of a ledger
	seat     *seat  // of an open state
	final    *final // of a final state
}

func (o *outgoing) size() int {
	return len(o.state.Encoded) + len(o.state.Group.Name) + o.overhead
}

// sendOpen sends the open states that changed, and unchanged ones that are due again as far as the rate allows.
func (g *gateway) sendOpen(now time.Time) error {
	states, repeated := g.open(now)
	budget := int(openRate * g.counter.cfg.EmitInterval / time.Second)
	for i := range states {
		budget -= states[i].size()
	}
	for i := range repeated {
		if budget -= repeated[i].size(); budget < 0 && i > 0 {
			break
		}
		states = append(states, repeated[i])
	}
	slices.SortFunc(states, func(a, b outgoing) int { return cmp.Compare(b.state.Minute, a.state.Minute) })
	for _, batch := range split(states) {
		settled, err := g.deliver(batch)
		if isNotStored(err) { // all goes again when the gateway stores again
			settled, g.unstored, err = len(batch), err, nil
		}
		for i := range settled {
			g.sent[batch[i].seat] = sentMark{sequence: batch[i].state.Sequence, at: now}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open states that changed since the gateway answered them, and those that are due again, the longest due first.
func (g *gateway) open(now time.Time) (changed, repeated []outgoing) {
	open := *g.counter.merger.open.Load()
	marks := make(map[*seat]sentMark, len(open))
	for _, s := range open {
		st := s.open.Load()
		if st == nil {
			continue // closed since; its final state is on its way
		}
		mark := g.sent[s]
		marks[s] = mark
		o := outgoing{overhead: s.bucket.ledger.overhead, seat: s, state: g.counter.openState(s, st)}
		switch {
		case mark.sequence != st.sequence:
			changed = append(changed, o)
		case now.Sub(mark.at) >= repeatInterval || mark.at.Before(g.recovered):
			repeated = append(repeated, o)
		}
	}
	g.sent = marks
	slices.SortFunc(repeated, func(a, b outgoing) int { return marks[a.seat].at.Compare(marks[b.seat].at) })
	return changed, repeated
}

func (c *counter) openState(s *seat, st *openState) wire.State {
	return wire.State{
		Epoch:    c.epoch,
		Shard:    c.shard,
		Sequence: st.sequence,
		Rule:     s.bucket.ledger.definition,
		Minute:   s.bucket.minute,
		Group:    s.group,
		Groups:   st.groups,
		Newest:   st.newest,
		Encoded:  st.encoded,
	}
}

// sendFinals sends one request of the oldest final states and says whether there were any. They are durable before they are
// sent: a process that restored their bucket might find other places for its groups, and the gateway would count two halves.
func (g *gateway) sendFinals() (bool, error) {
	finals := g.counter.pending.take(g.index, g.told, maxRequest)
	if len(finals) == 0 {
		return false, nil
	}
	g.counter.vault.commit()
	batch := make([]outgoing, len(finals))
	for i, f := range finals {
		batch[i] = outgoing{overhead: f.overhead, state: f.state, final: f}
		encoded, err := f.unpack(g.decoder)
		if err != nil {
			g.logger.DPanic("A final state does not decompress", zap.Error(err))
		}
		batch[i].state.Encoded = encoded
	}
	settled, at := 0, 0
	defer func() { g.counter.pending.settle(g.index, settled) }()
	for _, part := range split(batch) {
		n, err := g.deliver(part)
		if settled == at {
			settled += n
		}
		at += len(part)
		switch {
		case isNotStored(err):
			g.told, g.unstored = finals[at-1].id, err
		case err != nil:
			return true, err
		}
	}
	return true, nil
}

// split into requests of at most maxRequest, or one state.
func split(states []outgoing) [][]outgoing {
	var requests [][]outgoing
	from, size := 0, 0
	for i := range states {
		n := states[i].size()
		if size += n; size > maxRequest && i > from {
			requests = append(requests, states[from:i])
			from, size = i, n
		}
	}
	if from < len(states) {
		requests = append(requests, states[from:])
	}
	return requests
}

// deliver a request. Where it is refused for good, and the gateway does take a report alone, it is halved until the bad
// states stand alone; those are dropped. It returns how many of the first are settled, and why the next is not.
func (g *gateway) deliver(states []outgoing) (settled int, err error) {
	err = g.send(states, false)
	if err == nil {
		return len(states), nil
	}
	if !consumererror.IsPermanent(err) {
		return 0, err
	}
	if hello := g.send(nil, false); hello != nil {
		return 0, hello
	}
	return g.halve(states, err)
}

// halve what was refused for the reason err.
func (g *gateway) halve(states []outgoing, reason error) (settled int, err error) {
	if len(states) == 1 {
		g.refuse(&states[0], reason)
		return 1, nil
	}
	middle := len(states) / 2
	for _, half := range [][]outgoing{states[:middle], states[middle:]} {
		err := g.send(half, false)
		n := len(half)
		switch {
		case consumererror.IsPermanent(err):
			if n, err = g.halve(half, err); err != nil {
				return settled + n, err
			}
		case err != nil:
			return settled, err
		}
		settled += n
	}
	return settled, nil
}

// refuse notes a state that the gateway will never take.
func (g *gateway) refuse(o *outgoing, reason error) {
	g.stats.statesRefused.add(o.state.Rule.Name, 1)
	if o.final != nil {
		g.counter.pending.dropped.note(g.index, droppedRefused, o.final)
	}
	if g.refusal.began(time.Now()) {
		g.logger.Warn("Gateway refused a state for good", zap.String("rule", o.state.Rule.Name), zap.Error(reason))
	}
}

// send one request: the report, then the states.
func (g *gateway) send(states []outgoing, goodbye bool) error {
	report := g.counter.report(g.index)
	report.Goodbye = goodbye
	return g.request(report, states)
}

func (g *gateway) request(report *wire.Report, states []outgoing) error {
	ld := plog.NewLogs()
	size := wire.AppendReport(ld, report)
	for i := range states {
		n, err := wire.AppendState(ld, &states[i].state)
		if err != nil {
			return consumererror.NewPermanent(err)
		}
		size += n
	}
	err := g.exporter.ConsumeLogs(g.ctx, ld)
	switch {
	case err == nil:
		g.stats.answered.Add(1)
		g.stats.states.Add(uint64(len(states)))
		g.stats.bytes.Add(uint64(size))
		g.answered()
	case consumererror.IsPermanent(err):
		g.stats.refused.Add(1)
	default:
		g.stats.failed.Add(1)
	}
	return err
}

func (g *gateway) answered() {
	g.last, g.retry, g.failure = time.Now(), time.Time{}, 0
	g.told, g.unstored = 0, nil
	if g.stats.down.Swap(false) {
		g.recovered = g.last
		g.logger.Info("Gateway answers again")
	}
}

// fail notes that the gateway does not answer; the next try is later each time, or when it asked for it.
func (g *gateway) fail(err error) {
	g.failure++
	if !isNotStored(err) { // it may have lost what it had counted
		g.told = 0
		clear(g.sent)
	}
	delay := min(g.counter.cfg.EmitInterval<<min(g.failure-1, 10), maxStretch)
	g.retry = time.Now().Add(max(delay, min(retryAfter(err), maxRetry)))
	if g.stats.down.Swap(true) && (err.Error() == g.said || time.Since(g.saidAt) < maxRetry) {
		return
	}
	g.said, g.saidAt = err.Error(), time.Now()
	what := "Gateway does not answer"
	if coded := statusOf(err); coded.Code() == codes.Unauthenticated || coded.Code() == codes.PermissionDenied {
		what = "Gateway refuses the credentials"
	}
	g.logger.Warn(what+"; final states are kept, and all is sent again", zap.Error(err))
}

// statusOf an error of a request; nil: the gateway said nothing.
func statusOf(err error) *status.Status {
	var coded interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &coded) {
		return nil
	}
	return coded.GRPCStatus()
}

// retryAfter is what the gateway asked for, or 0.
func retryAfter(err error) time.Duration {
	for _, detail := range statusOf(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// isNotStored says whether the gateway has counted what came, and cannot store it.
func isNotStored(err error) bool {
	for _, detail := range statusOf(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == wire.Domain && info.GetReason() == wire.NotStored {
			return true
		}
	}
	return false
}

// sayFarewells for epochs of which the gateway waits for nothing more.
func (g *gateway) sayFarewells() error {
	for len(g.farewells) > 0 {
		p := g.farewells[0]
		if g.counter.pending.holds(g.index, p.epoch) {
			return nil
		}
		err := g.request(&wire.Report{Epoch: p.epoch, Shard: p.shard, Goodbye: true}, nil)
		if err != nil && !consumererror.IsPermanent(err) {
			return err
		}
		g.farewells = g.farewells[1:]
	}
	return nil
}

// report of the shard to one gateway.
func (c *counter) report(gateway int) *wire.Report {
	r := &wire.Report{Epoch: c.epoch, Shard: c.shard, Rules: make([]wire.RuleReport, len(c.ledgers))}
	for i, l := range c.ledgers {
		r.Rules[i] = wire.RuleReport{
			Rule:    l.definition.Name,
			Records: l.tally.counted.Load(),
			Late:    l.tally.late.Load(),
			Future:  l.tally.future.Load(),
			Dropped: c.pending.dropped.of(gateway, l.definition.Name),
		}
	}
	return r
}
