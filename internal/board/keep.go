package board

import (
	"fmt"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// What a board keeps on its Shelf, beside parts. Without one nothing of it is made.

func (b *Board) keepEpoch(e *epoch) {
	if e.changed && b.cfg.Shelf != nil && b.epochs[e.id] == e {
		b.cfg.Shelf.Set(epochKey(e.id), e.value())
	}
	e.changed = false
}

func (b *Board) keepRule(c *counted) {
	if b.cfg.Shelf == nil {
		return
	}
	definition, err := wire.EncodeDefinition(c.rule)
	if err != nil {
		return // cannot be: it travelled
	}
	s := storedRule{definition, c.since, c.newest, c.floor, c.flat, c.until, c.under.served == c, c.awake()}
	value := s.value()
	b.cfg.Shelf.Set(ruleKey(c.id), value)
	b.cfg.Shelf.Set(spareKey(c.id), value)
}

// keepSets stores who of a minute was folded.
func (b *Board) keepSets(c *counted, at window.Minute, m *minute) {
	if b.cfg.Shelf == nil {
		return
	}
	s := storedSets{folds: m.folds, expires: m.expires, drawn: m.drawn, epochs: make([]wire.Epoch, 0, len(m.folded))}
	for _, live := range m.sets {
		s.drawn -= b.drawn(live.weight)
	}
	for id, stored := range m.folded {
		if stored {
			s.epochs = append(s.epochs, id)
		}
	}
	b.cfg.Shelf.Set(setKey(c.id, at), s.value())
}

// body of a state as it is stored; nil without a Shelf.
func (b *Board) body(s *wire.State, encoded []byte) ([]byte, error) {
	if b.cfg.Shelf == nil {
		return nil, nil
	}
	whole := *s
	whole.Encoded = encoded
	body, err := wire.EncodeState(&whole)
	if err != nil {
		return nil, fmt.Errorf("board: rule %q: %w", s.Rule.Name, err)
	}
	return body, nil
}

func (b *Board) keepIncidents(r *ruled, p window.Part) {
	if b.cfg.Shelf != nil {
		n := r.incidents[p]
		b.cfg.Shelf.Set(incidentKey(p, r.name), n.value())
	}
}

func (b *Board) remove(key string) {
	if b.cfg.Shelf != nil {
		b.cfg.Shelf.Delete(key)
	}
}
