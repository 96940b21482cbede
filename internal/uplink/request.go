package uplink

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
	// MaxRequest is how many bytes before compression a request has at most, or one state.
	MaxRequest = 2 << 20

	// OpenRate is from how many bytes a second of open states on, before compression, the emit interval is stretched.
	OpenRate = 512 << 10

	// MaxStretch is the longest stretched interval.
	MaxStretch = 8 * time.Second

	maxRetry = time.Minute
	silence  = 5 * time.Minute // after which refused states are logged again
)

// Pace is the time to the next emission after one of size bytes.
func Pace(interval time.Duration, size int) time.Duration {
	stretched := time.Duration(size) * time.Second / OpenRate
	return max(interval, min(stretched, MaxStretch))
}

// outgoing is a state to send.
type outgoing struct {
	state    wire.State
	overhead int
	key      any    // of an open state
	final    *Final // of a final state
}

func (o *outgoing) size() int {
	return len(o.state.Encoded) + len(o.state.Group.Name) + o.overhead
}

// sendOpen sends the open states that changed, and unchanged ones that are due again as far as the rate allows.
func (g *Sender) sendOpen(open []Open, now time.Time) error {
	states, repeated := g.due(open, now)
	budget := int(OpenRate * g.EmitInterval / time.Second)
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
			g.sent[batch[i].key] = sentMark{sequence: batch[i].state.Sequence, at: now}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// due are the open states that changed since the gateway answered them, and those that are to be repeated, the longest due first.
func (g *Sender) due(open []Open, now time.Time) (changed, repeated []outgoing) {
	marks := make(map[any]sentMark, len(open))
	for i := range open {
		if !g.Gateways[g.Index].Takes(open[i].State.Rule.Name) {
			continue
		}
		key := open[i].Key
		mark := g.sent[key]
		marks[key] = mark
		o := outgoing{overhead: open[i].Overhead, key: key, state: open[i].State}
		switch {
		case mark.sequence != o.state.Sequence:
			changed = append(changed, o)
		case now.Sub(mark.at) >= repeatInterval || mark.at.Before(g.recovered):
			repeated = append(repeated, o)
		}
	}
	g.sent = marks
	slices.SortFunc(repeated, func(a, b outgoing) int { return marks[a.key].at.Compare(marks[b.key].at) })
	return changed, repeated
}

// sendFinals sends one request of the oldest final states and says whether there were any. They are durable before they are
// sent: a process that restored their bucket might find other places for its groups, and the gateway would count two halves.
func (g *Sender) sendFinals() (bool, error) {
	finals := g.Pending.take(g.Index, g.told, MaxRequest)
	if len(finals) == 0 {
		return false, nil
	}
	g.Source.Commit()
	batch := make([]outgoing, len(finals))
	for i, f := range finals {
		batch[i] = outgoing{overhead: f.Overhead, state: f.State, final: f}
		encoded, err := f.Unpack(g.decoder)
		if err != nil {
			g.Logger.DPanic("A final state does not decompress", zap.Error(err))
		}
		batch[i].state.Encoded = encoded
	}
	settled, at := 0, 0
	defer func() { g.Pending.settle(g.Index, settled) }()
	for _, part := range split(batch) {
		n, err := g.deliver(part)
		if settled == at {
			settled += n
		}
		at += len(part)
		switch {
		case isNotStored(err):
			g.told, g.unstored = finals[at-1].ID, err
		case err != nil:
			return true, err
		}
	}
	return true, nil
}

// split into requests of at most MaxRequest, or one state.
func split(states []outgoing) [][]outgoing {
	var requests [][]outgoing
	from, size := 0, 0
	for i := range states {
		n := states[i].size()
		if size += n; size > MaxRequest && i > from {
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
func (g *Sender) deliver(states []outgoing) (settled int, err error) {
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
func (g *Sender) halve(states []outgoing, reason error) (settled int, err error) {
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
func (g *Sender) refuse(o *outgoing, reason error) {
	g.Stats.StatesRefused.add(o.state.Rule.Name, 1)
	if o.final != nil {
		g.Pending.Dropped.note(g.Index, DroppedRefused, o.final)
	}
	now := time.Now()
	again := now.Sub(g.refusedAt) < silence
	g.refusedAt = now
	if !again {
		g.Logger.Warn("Gateway refused a state for good", zap.String("rule", o.state.Rule.Name), zap.Error(reason))
	}
}

// send one request: the report, then the states.
func (g *Sender) send(states []outgoing, goodbye bool) error {
	report := g.Source.Report()
	report.Goodbye = goodbye
	rules := report.Rules[:0]
	for _, told := range report.Rules {
		if g.Gateways[g.Index].Takes(told.Rule) {
			told.Dropped += g.Pending.Dropped.Of(g.Index, told.Rule)
			rules = append(rules, told)
		}
	}
	report.Rules = rules
	return g.request(report, states)
}

func (g *Sender) request(report *wire.Report, states []outgoing) error {
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
		g.Stats.Answered.Add(1)
		g.Stats.States.Add(uint64(len(states)))
		g.Stats.Bytes.Add(uint64(size))
		g.answered()
	case consumererror.IsPermanent(err):
		g.Stats.Refused.Add(1)
	default:
		g.Stats.Failed.Add(1)
	}
	return err
}

func (g *Sender) answered() {
	g.last, g.retry, g.failure = time.Now(), time.Time{}, 0
	g.told, g.unstored = 0, nil
	if g.Stats.Down.Swap(false) {
		g.recovered = g.last
		g.Logger.Info("Gateway answers again")
	}
}

// fail notes that the gateway does not answer; the next try is later each time, or when it asked for it.
func (g *Sender) fail(err error) {
	g.failure++
	if !isNotStored(err) { // it may have lost what it had counted
		g.told = 0
		clear(g.sent)
	}
	delay := min(g.EmitInterval<<min(g.failure-1, 10), MaxStretch)
	g.retry = time.Now().Add(max(delay, min(retryAfter(err), maxRetry)))
	if g.Stats.Down.Swap(true) && (err.Error() == g.said || time.Since(g.saidAt) < maxRetry) {
		return
	}
	g.said, g.saidAt = err.Error(), time.Now()
	what := "Gateway does not answer"
	if coded := statusOf(err); coded.Code() == codes.Unauthenticated || coded.Code() == codes.PermissionDenied {
		what = "Gateway refuses the credentials"
	}
	g.Logger.Warn(what+"; final states are kept, and all is sent again", zap.Error(err))
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
func (g *Sender) sayFarewells() error {
	for len(g.farewells) > 0 {
		p := g.farewells[0]
		if g.Pending.Holds(g.Index, p.Epoch) {
			return nil
		}
		err := g.request(&wire.Report{Epoch: p.Epoch, Shard: p.Shard, Goodbye: true}, nil)
		if err != nil && !consumererror.IsPermanent(err) {
			return err
		}
		g.farewells = g.farewells[1:]
	}
	return nil
}
