package topkprocessor

import (
	"cmp"
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

// restore what the processes before this one left. It goes to the gateways as final states of their epochs.
func (v *vault) restore(ctx context.Context) error {
	s := &survey{vault: v, parts: map[uint64]map[uint64][]byte{}}
	if err := v.depot.Walk(ctx, s.visit); err != nil {
		return err
	}
	rc := s.newest()
	if rc != nil && s.last > rc.sequence {
		if err := v.depot.Walk(ctx, rc.visit); err != nil {
			return err
		}
	}
	v.sequence.Store(s.last)
	v.oldest, v.needed = s.first, s.first
	v.number = s.number
	s.adopt(rc)
	v.relics = s.relics
	s.tell(rc)
	return nil
}

// survey is what a storage holds at start.
type survey struct {
	vault  *vault
	bodies wire.Bodies

	parts   map[uint64]map[uint64][]byte // of checkpoints, by number and place
	floors  []storedFloor
	finals  []*uplink.Final
	relics  []string // keys of what the first checkpoint of this process replaces
	entries int
	number  uint64 // the highest of a checkpoint
	first   uint64 // number of an entry; 0: there is none
	last    uint64 // of an entry or a checkpoint that was read
}

type storedFloor struct {
	rule  uint64 // its index
	epoch wire.Epoch
	floor int64
}

func (s *survey) visit(value depot.Value) {
	if n, ok := numberOf(journalKey, value.Key); ok {
		if s.entries++; s.entries == 1 || n < s.first {
			s.first = n
		}
		s.last = max(s.last, n)
		return
	}
	var read func([]byte) error
	if n, part, ok := partOf(value.Key); ok {
		s.number = max(s.number, n)
		s.relics = append(s.relics, value.Key)
		read = func(b []byte) error {
			if s.parts[n] == nil {
				s.parts[n] = map[uint64][]byte{}
			}
			s.parts[n][part] = slices.Clone(b)
			return nil
		}
	} else if n, ok := numberOf(floorKey, value.Key); ok {
		s.relics = append(s.relics, value.Key)
		read = func(b []byte) (err error) {
			at := storedFloor{rule: n}
			at.epoch, at.floor, err = readFloor(b)
			s.floors = append(s.floors, at)
			return err
		}
	} else if n, ok := numberOf(finalKey, value.Key); ok {
		read = func(b []byte) error {
			f, err := s.vault.decodeFinal(b, &s.bodies)
			if err == nil {
				f.ID = n
				s.finals = append(s.finals, f)
			}
			return err
		}
	} else {
		return
	}
	s.vault.read(value, read)
}

// read a value; one that does not follow its format is set aside, as one that is damaged is.
func (v *vault) read(value depot.Value, read func([]byte) error) {
	if b, ok := value.Open(); ok && read(b) != nil {
		v.depot.SetAside(value.Key, b)
	}
}

// newest checkpoint that can be read, counted; nil: there is none.
func (s *survey) newest() *recount {
	numbers := make([]uint64, 0, len(s.parts))
	for n, parts := range s.parts {
		if parts[0] != nil {
			numbers = append(numbers, n)
		}
	}
	slices.SortFunc(numbers, func(a, b uint64) int { return cmp.Compare(b, a) })
	for _, n := range numbers {
		rc, bad, err := s.read(n)
		if err == nil {
			s.last = max(s.last, rc.sequence)
			return rc
		}
		if b := s.parts[n][bad]; b != nil {
			s.vault.depot.SetAside(partKey(n, int(bad)), b)
		}
	}
	return nil
}

// read checkpoint n, or say which part is bad.
func (s *survey) read(n uint64) (rc *recount, bad uint64, err error) {
	r := field.New(s.parts[n][0])
	r.Version(checkpointVersion)
	sequence, parts := r.Fixed64(), r.Uint()
	run := readRun(r, &s.bodies)
	if err := whole(r); err != nil {
		return nil, 0, err
	}
	if rc, err = newRecount(s.vault, run, sequence); err != nil {
		return nil, 0, err
	}
	for _, at := range s.floors {
		if at.epoch == run.epoch {
			rc.raise(at.rule, at.floor)
		}
	}
	for _, f := range s.finals {
		rc.closed(&f.State)
	}
	for bad = 1; bad <= parts; bad++ {
		if err := rc.addPart(s.parts[n][bad], &s.bodies); err != nil {
			return nil, bad, err
		}
	}
	rc.closePlaces()
	return rc, 0, nil
}

// adopt the final states that were stored, and those of what was counted again.
func (s *survey) adopt(rc *recount) {
	c := s.vault.counter
	slices.SortFunc(s.finals, func(a, b *uplink.Final) int { return cmp.Compare(a.ID, b.ID) })
	for _, f := range s.finals {
		c.pending.Resume(f)
		c.remember(uplink.Past{Epoch: f.State.Epoch, Shard: f.State.Shard})
	}
	if rc != nil {
		for _, f := range rc.finals(c.now().UnixNano()) {
			f.ID = c.pending.Number()
			c.pending.Add(f)
		}
		c.remember(uplink.Past{Epoch: rc.counter.epoch, Shard: rc.counter.shard})
	}
	c.pending.Expire(c.now().UnixNano())
}

func (c *counter) remember(p uplink.Past) {
	if !slices.ContainsFunc(c.past, func(known uplink.Past) bool { return known.Epoch == p.Epoch }) {
		c.past = append(c.past, p)
	}
}

// tell what was found.
func (s *survey) tell(rc *recount) {
	logger := s.vault.counter.logger
	if n := s.vault.depot.Damaged(); n > 0 {
		logger.Error("Stored values were damaged and are set aside; what they held is not counted", zap.Uint64("values", n))
	}
	if rc == nil {
		if s.entries > 0 {
			logger.Error("No checkpoint can be read, and without one the journal cannot; what they held is not counted", zap.Int("requests", s.entries))
		}
		return
	}
	logger.Info("Restored what the process before left; it goes to the gateways as final states",
		zap.Int("stored_states", len(s.finals)), zap.Int("open_states", rc.states), zap.Int("requests", rc.entries))
	if rc.strange > 0 {
		logger.Error("Requests were recorded by a process of which no checkpoint can be read; they are not counted", zap.Int("requests", rc.strange))
	}
	for _, l := range s.vault.counter.ledgers {
		if before := rc.byName[l.definition.Name]; before != nil && before.definition.Fingerprint() != l.definition.Fingerprint() {
			logger.Info("The rule has changed: its counts start anew, and those of before go to the gateways by themselves",
				zap.String("rule", l.definition.Name))
		}
	}
}
