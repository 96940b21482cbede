package board

import (
	"encoding/hex"
	"math"
	"strings"
	"unique"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// Restore fills a new board with what an earlier one left on its Shelf, at now and before anything else is called. walk calls
// visit for every value, in any order: its key, its size (what the shelf adds may be in it), and open, which returns the value
// or false if it is damaged; the value is read before visit returns. During the walk the board calls of its Shelf nothing but
// SetAside; after it what fits nothing is deleted. Keys that are not the board's are left alone. Lists, coverage and what is
// too late go on as if the earlier board had never ended; what could not be read is counted in Stats, and the lists that it is
// missing from say "damaged". The error is that of walk: the board is empty then.
func (b *Board) Restore(now int64, walk func(visit func(key string, size int, open func() ([]byte, bool))) error) error {
	r := &relics{
		board:     b,
		rules:     map[string]*relicRule{},
		sets:      map[relicMinute]*storedSets{},
		parts:     map[string]map[window.Part]part{},
		incidents: map[relicIncident]incidents{},
	}
	if err := walk(r.visit); err != nil {
		return err
	}
	r.revive(now)
	return nil
}

// relics are what was found on the shelf.
type relics struct {
	board     *Board
	bodies    wire.Bodies
	rules     map[string]*relicRule // by their name in keys
	epochs    []*epoch
	states    []relicState
	sets      map[relicMinute]*storedSets // nil: could not be read
	parts     map[string]map[window.Part]part
	incidents map[relicIncident]incidents
	damaged   []relicMinute // of states, sets and parts that could not be read
	unfit     []string      // keys
}

type relicRule struct {
	*storedRule
	definition *rule.Definition
}

type relicState struct {
	*wire.State
	of        string // definition
	overflows bool
}

type relicMinute struct {
	of string // definition
	at window.Minute
}

type relicIncident struct {
	rule string
	at   window.Part
}

// visit one value.
func (r *relics) visit(key string, size int, open func() ([]byte, bool)) {
	prefix, rest, _ := strings.Cut(key, "/")
	fits := true
	switch prefix + "/" {
	case partPrefix:
		fits = r.part(key, rest, size, open)
	case statePrefix:
		fits = r.state(key, rest, open)
	case setPrefix:
		fits = r.set(key, rest, open)
	case rulePrefix:
		fits = r.rule(key, rest, open)
	case epochPrefix:
		fits = r.epoch(key, rest, open)
	case incidentPrefix:
		fits = r.incident(key, rest, open)
	case risePrefix:
		fits = r.risen(key, open)
	case toldPrefix:
		fits = r.told(rest, key, open)
	case sequencePrefix:
		fits = r.sequence(key, open)
	}
	if !fits {
		r.unfit = append(r.unfit, key)
	}
}

// read a value. What cannot be read is counted, and if the shelf has not set it aside, it is now.
func read[V any](r *relics, key string, open func() ([]byte, bool), decode func([]byte) (V, bool)) (v V, ok bool) {
	value, whole := open()
	if whole {
		if v, ok = decode(value); ok {
			return v, true
		}
		r.board.cfg.Shelf.SetAside(key, value)
	}
	r.board.stats.Unreadable++
	return v, false
}

// part notes where a part is; it is read when it is needed. Only a long name of a group stands in the value.
func (r *relics) part(key, rest string, size int, open func() ([]byte, bool)) bool {
	of, rest, _ := strings.Cut(rest, "/")
	at, rest, _ := strings.Cut(rest, "/")
	p, ok1 := partOf(at)
	g, long, ok2 := groupOf(rest)
	if !ok1 || !ok2 || !long && partKey(of, p, g) != key {
		return false
	}
	if long {
		var ok bool
		g, ok = read(r, key, open, func(value []byte) (rule.Group, bool) {
			_, name, _, ok := readPart(value)
			g := rule.Group{Scope: rule.ScopeGroup, Name: string(name)}
			return g, ok && groupText(g) == rest
		})
		if !ok {
			r.damaged = append(r.damaged, relicMinute{strings.Clone(of), p.Start})
			return true
		}
	}
	parts := r.parts[of]
	if parts == nil {
		parts = map[window.Part]part{}
		r.parts[strings.Clone(of)] = parts
	}
	if parts[p] == nil {
		parts[p] = part{}
	}
	parts[p][unique.Make(g)] = stored{size: size}
	return true
}

func (r *relics) state(key, rest string, open func() ([]byte, bool)) bool {
	of, minute, _, ok := splitMinute(rest)
	if !ok {
		return false
	}
	s, ok := read(r, key, open, func(value []byte) (relicState, bool) {
		body, overflows, ok := readState(value)
		if !ok {
			return relicState{}, false
		}
		s, err := r.bodies.State(body)
		return relicState{s, strings.Clone(of), overflows}, err == nil
	})
	if !ok {
		r.damaged = append(r.damaged, relicMinute{strings.Clone(of), minute})
		return true
	}
	s.Summary = nil // its encoding is far smaller
	if stateKey(definitionID(s.Rule.Name, s.Rule.Fingerprint()), s.Minute, s.Epoch, s.Group) != key {
		return false
	}
	r.states = append(r.states, s)
	return true
}

func (r *relics) set(key, rest string, open func() ([]byte, bool)) bool {
	of, minute, _, ok := splitMinute(rest)
	if !ok || setKey(of, minute) != key {
		return false
	}
	s, ok := read(r, key, open, readSets)
	if !ok {
		s = nil
	}
	r.sets[relicMinute{strings.Clone(of), minute}] = s
	return true
}

// rule reads a definition, which lies there twice.
func (r *relics) rule(key, rest string, open func() ([]byte, bool)) bool {
	of, _, _ := strings.Cut(rest, "/")
	if key != ruleKey(of) && key != spareKey(of) {
		return false
	}
	s, ok := read(r, key, open, func(value []byte) (*relicRule, bool) {
		s, ok := readRule(value)
		if !ok {
			return nil, false
		}
		d, err := r.bodies.Definition(s.definition)
		s.definition = nil
		return &relicRule{s, d}, err == nil && definitionID(d.Name, d.Fingerprint()) == of
	})
	if ok {
		r.rules[strings.Clone(of)] = s
	}
	return true
}

func (r *relics) epoch(key, rest string, open func() ([]byte, bool)) bool {
	id, err := hex.DecodeString(rest)
	if err != nil || len(id) != len(wire.Epoch{}) || epochKey(wire.Epoch(id)) != key {
		return false
	}
	if e, ok := read(r, key, open, func(value []byte) (*epoch, bool) { return readEpoch(wire.Epoch(id), value) }); ok {
		r.epochs = append(r.epochs, e)
	}
	return true
}

func (r *relics) incident(key, rest string, open func() ([]byte, bool)) bool {
	at, name, _ := strings.Cut(rest, "/")
	p, ok := partOf(at)
	if !ok || p.Size == window.FiveMinutes || incidentKey(p, name) != key {
		return false
	}
	n, ok := read(r, key, open, readIncidents)
	if !ok {
		n = incidents{damaged: 1}
	}
	r.incidents[relicIncident{strings.Clone(name), p}] = n
	return true
}

// risen reads a final state that was not settled. Where it cannot be read, it is lost above.
func (r *relics) risen(key string, open func() ([]byte, bool)) bool {
	s, ok := read(r, key, open, func(value []byte) (*wire.State, bool) {
		f := fieldsOf(value)
		if f.Broken() {
			return nil, false
		}
		s, err := r.bodies.State(f.Rest())
		return s, err == nil
	})
	if !ok {
		return true
	}
	s.Summary = nil
	if riseKey(s) != key || r.board.cfg.Ascent == nil {
		return false
	}
	r.board.unsettled = append(r.board.unsettled, s)
	return true
}

func (r *relics) told(name, key string, open func() ([]byte, bool)) bool {
	told, ok := read(r, key, open, readTold)
	if !ok {
		return true
	}
	b := r.board
	if b.cfg.Ascent == nil {
		return false
	}
	if b.told == nil {
		b.told = map[string]*wire.RuleReport{}
	}
	told.Rule = strings.Clone(name)
	b.told[told.Rule] = told
	return true
}

func (r *relics) sequence(key string, open func() ([]byte, bool)) bool {
	b := r.board
	if b.cfg.Ascent == nil || key != sequenceKey {
		return false
	}
	n, ok := read(r, key, open, func(value []byte) (uint64, bool) {
		f := fieldsOf(value)
		n := f.Uint()
		return n, f.Whole() && n < math.MaxInt64
	})
	if ok {
		b.sequence, b.beyond = max(b.sequence, n), n
	}
	return true
}
