package topkprocessor

import (
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

var _ uplink.Source = (*counter)(nil)

// Open are the open states of the newest emission.
func (c *counter) Open() []uplink.Open {
	open := *c.merger.open.Load()
	all := make([]uplink.Open, 0, len(open))
	for _, s := range open {
		if st := s.open.Load(); st != nil { // else it was closed since; its final state is on its way
			all = append(all, uplink.Open{Key: s, Overhead: s.bucket.ledger.overhead, State: c.openState(s, st)})
		}
	}
	return all
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

// Report of the shard.
func (c *counter) Report() *wire.Report {
	r := &wire.Report{Epoch: c.epoch, Shard: c.shard, Rules: make([]wire.RuleReport, len(c.ledgers))}
	for i, l := range c.ledgers {
		r.Rules[i] = wire.RuleReport{
			Rule:    l.definition.Name,
			Records: l.tally.counted.Load(),
			Late:    l.tally.late.Load(),
			Future:  l.tally.future.Load(),
		}
	}
	return r
}

// Commit what was stored: a process that restored the bucket of a final state might find other places for its groups, and a gateway
// would count two halves.
func (c *counter) Commit() { c.vault.commit() }

func (c *counter) ruleNames() []string {
	names := make([]string, len(c.ledgers))
	for i, l := range c.ledgers {
		names[i] = l.definition.Name
	}
	return names
}
