package topkprocessor

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pipeline"
)

// partition stamps the records that one rule counts with their key, hot keys with a salt.
type partition struct {
	cfg    *Partition
	ledger *ledger
	aside  bool // no gateway takes the rule: its records are stamped and not counted

	hot     atomic.Pointer[hotKeys]
	traffic *traffic // finds the hot keys; nil: lists does
	lists   *lists
}

// hotKeys are what each hot key is called: its key with each of the salts.
type hotKeys map[string][]string

// newPartition is nil without partition in the configuration.
func newPartition(c *counter, set component.TelemetrySettings) (*partition, error) {
	cfg := c.cfg.Partition.Get()
	if cfg == nil {
		return nil, nil
	}
	p := &partition{cfg: cfg, ledger: c.ledgers[slices.IndexFunc(c.ledgers, func(l *ledger) bool { return l.definition.Name == cfg.Rule })]}
	p.hot.Store(&hotKeys{})
	p.ledger.stamped = true
	if p.aside = !taken(c.cfg.Gateways, cfg.Rule); p.aside {
		p.ledger.watch.saidSilent = true
	}
	if cfg.Salts == 1 {
		return p, nil
	}
	if lc := cfg.Lists.Get(); lc != nil {
		p.lists = newLists(lc, p.ledger.definition, cfg.HotShare, p.salt, set)
		return p, nil
	}
	var err error
	p.traffic, err = newTraffic(cfg.HotShare, p.ledger.definition.Shape.Seed)
	return p, err
}

// changes says whether records of signal are stamped.
func (p *partition) changes(signal pipeline.Signal) bool {
	return p != nil && slices.Contains(p.ledger.definition.Signals, signal.String())
}

func (p *partition) start(ctx context.Context, host component.Host) error {
	if p == nil || p.lists == nil {
		return nil
	}
	return p.lists.connect(ctx, host)
}

// keepUp with the gateway's lists until ctx ends.
func (p *partition) keepUp(ctx context.Context) {
	if p != nil && p.lists != nil {
		p.lists.keepUp(ctx)
	}
}

// stamp the records found.
func (p *partition) stamp(found *findings, now time.Time) {
	if p == nil {
		return
	}
	i := slices.Index(found.ledgers, p.ledger)
	if i < 0 {
		return
	}
	b := &found.batches[i]
	if p.traffic != nil {
		if keys, read := p.traffic.add(b.Keys, now); read {
			p.salt(keys)
		}
	}
	hot := *p.hot.Load()
	for i, key := range b.Keys {
		if len(hot) > 0 {
			if names := hot[key]; names != nil {
				key = names[rand.IntN(len(names))]
			}
		}
		b.Attributes[i].PutStr(p.cfg.Attribute, key)
	}
	if p.aside {
		found.batches[i].Forget()
	}
}

// salt makes these keys the hot ones.
func (p *partition) salt(keys []string) {
	old := *p.hot.Load()
	if len(keys) == len(old) && !slices.ContainsFunc(keys, func(key string) bool { return old[key] == nil }) {
		return
	}
	hot := make(hotKeys, len(keys))
	for _, key := range keys {
		names := old[key]
		if names == nil {
			names = make([]string, p.cfg.Salts)
			for i := range names {
				names[i] = key + "#" + strconv.Itoa(i)
			}
		}
		hot[key] = names
	}
	p.hot.Store(&hot)
}

func (p *partition) listFailures() int64 {
	if p.lists == nil {
		return 0
	}
	return int64(p.lists.failures.Load())
}

// memoryBound of the names of hot keys, and of what finds them.
func (p *partition) memoryBound() int64 {
	if p == nil {
		return 0
	}
	const perName = 64 // header, salt and what the memory is rounded up to
	keyBytes := p.ledger.definition.MaxKeyBytes
	sum := int64(1/p.cfg.HotShare) * int64(p.cfg.Salts) * int64(keyBytes*5/4+perName) * 2 // while they change
	if t := p.traffic; t != nil {
		sum += 3 * summaryBound(t.now.Capacity(), keyBytes, t.now.Shape()) // the third is where they are merged
	}
	return sum
}

// taken says whether a gateway gets the states of a rule.
func taken(gateways []Gateway, rule string) bool {
	return slices.ContainsFunc(gateways, func(g Gateway) bool { return g.Takes(rule) })
}
