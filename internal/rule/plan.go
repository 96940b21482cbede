package rule

import (
	"slices"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// level says how often a path is looked up: once for each resource, scope, parent (the metric of data points, the span of
// span events) or record.
type level uint8

const (
	perResource level = iota
	perScope
	perParent
	perRecord
)

// lookup is a compiled path: an attribute, or what get finds. C is the cursor of a walk: where it stands.
type lookup[C any] struct {
	level     level
	in        func(*C) pcommon.Map
	attribute string
	get       func(*C, *value) // takes an absent value and may leave it so
}

// find fills v in.
func (l *lookup[C]) find(c *C, v *value) {
	v.kind = absent
	if l.in == nil {
		l.get(c, v)
	} else if found, ok := l.in(c).Get(l.attribute); ok {
		v.setValue(found)
	}
}

// plan is a rule compiled for one kind of record.
type plan[C any] struct {
	key        []lookup[C]
	keyLevel   level // of the part that is looked up most often
	group      *lookup[C]
	weigh      func(*C, *value) (uint64, reason) // nil: 1 each
	conditions []func(*C) (bool, error)
	attributes func(*C) pcommon.Map // of the record itself
	expresses  bool                 // some OTTL expression needs its context

	names    keyText
	stand    *string // stands for missing parts of the key
	onFailed error   // what Batch.Err becomes; nil: nothing
}

// reason is why a record is not counted.
type reason uint8

const (
	fits reason = iota
	unmatched
	missingKey
	badWeight
	failedExpression
)

// held is what a walk keeps: values found above the record, and memory.
type held struct {
	value   value   // of the only part of a key, or of the group
	parts   []value // of a composite key
	key     counted
	why     reason // not fits: there is no key
	group   Group
	names   counted // of the group
	whyNot  reason
	scratch []byte
	text    arena
}

// forget lets go of records and keeps the memory.
func (h *held) forget() {
	clear(h.parts)
	h.value, h.key, h.group, h.names = value{}, counted{}, Group{}, counted{}
}

// begin makes room for n records.
func (p *plan[C]) begin(b *Batch, n int) {
	b.Keys = slices.Grow(b.Keys, n)
	b.Times = slices.Grow(b.Times, n)
	if p.weigh != nil {
		if b.Weights == nil {
			b.Weights = b.weights
		}
		b.Weights = slices.Grow(b.Weights, n)
	}
	if p.group != nil {
		if b.Groups == nil {
			b.Groups = b.groups
		}
		b.Groups = slices.Grow(b.Groups, n)
	}
	b.held.parts = slices.Grow(b.held.parts[:0], len(p.key))[:len(p.key)]
}

// enter looks up what stays the same until the walk enters l again; l is above perRecord.
func (p *plan[C]) enter(l level, c *C, b *Batch) {
	if p.names.composite {
		for i := range p.key {
			if p.key[i].level == l {
				p.key[i].find(c, &b.held.parts[i])
			}
		}
	}
	if p.keyLevel == l {
		b.held.key, b.held.why = p.findKey(c, b)
	}
	if p.group != nil && p.group.level == l {
		p.findGroup(c, b)
	}
}

// record appends the record that c stands on, or counts why not.
func (p *plan[C]) record(c *C, at int64, b *Batch) {
	if len(p.conditions) > 0 {
		if why := p.match(c); why != fits {
			p.skip(why, b)
			return
		}
	}
	key, why := b.held.key, b.held.why
	if p.keyLevel == perRecord {
		key, why = p.findKey(c, b)
	}
	if why != fits {
		p.skip(why, b)
		return
	}
	if p.group != nil {
		if p.group.level == perRecord {
			p.findGroup(c, b)
		}
		if b.held.whyNot != fits {
			p.skip(b.held.whyNot, b)
			return
		}
	}
	if p.weigh != nil {
		weight, why := p.weigh(c, &b.held.value)
		if why != fits {
			p.skip(why, b)
			return
		}
		b.Weights = append(b.Weights, weight)
	}
	if p.group != nil {
		b.Groups = append(b.Groups, b.held.group)
		b.Skipped.changed(b.held.names)
	}
	b.Keys = append(b.Keys, key.text)
	b.Times = append(b.Times, at)
	if b.KeepAttributes {
		b.Attributes = append(b.Attributes, p.attributes(c))
	}
	b.Skipped.changed(key)
}

// match says whether one of the conditions holds. One that fails does not; another may.
func (p *plan[C]) match(c *C) reason {
	why := unmatched
	for _, holds := range p.conditions {
		ok, err := holds(c)
		if ok && err == nil {
			return fits
		}
		if err != nil {
			why = failedExpression
		}
	}
	return why
}

// findKey makes the key of the record; of a composite key the parts above the record are held already.
func (p *plan[C]) findKey(c *C, b *Batch) (counted, reason) {
	if !p.names.composite {
		v := &b.held.value
		p.key[0].find(c, v)
		switch v.kind {
		case absent:
			if p.stand == nil {
				return counted{}, missingKey
			}
			v.setText(*p.stand)
		case failed:
			return counted{}, failedExpression
		}
		return p.name(v, b), fits
	}
	parts := b.held.parts
	why := fits
	for i := range p.key {
		if p.key[i].level == perRecord {
			p.key[i].find(c, &parts[i])
		}
		switch parts[i].kind {
		case absent:
			if p.stand == nil {
				why = max(why, missingKey)
			} else {
				parts[i].setText(*p.stand)
			}
		case failed:
			why = failedExpression
		}
	}
	if why != fits {
		return counted{}, why
	}
	array, cut, repaired := p.names.appendArray(b.held.scratch[:0], parts)
	b.held.scratch = array
	return counted{text: b.held.text.string(array), cut: cut, repaired: repaired}, fits
}

// findGroup holds the group of the record.
func (p *plan[C]) findGroup(c *C, b *Batch) {
	v := &b.held.value
	p.group.find(c, v)
	b.held.names, b.held.whyNot = counted{}, fits
	switch v.kind {
	case absent:
		b.held.group = Group{Scope: ScopeMissing}
	case failed:
		b.held.whyNot = failedExpression
	default:
		b.held.names = p.name(v, b)
		b.held.group = Group{Scope: ScopeGroup, Name: b.held.names.text}
	}
}

// name is v as a key of one part, or as the name of a group.
func (p *plan[C]) name(v *value, b *Batch) counted {
	switch v.kind {
	case text:
		return p.names.single(v.str)
	case integer:
		if v.bits < uint64(len(smallIntegers)) {
			return counted{text: smallIntegers[v.bits]}
		}
	}
	b.held.scratch = appendText(b.held.scratch[:0], v)
	s := b.held.text.string(b.held.scratch)
	if v.kind == other {
		return p.names.single(s)
	}
	return counted{text: s} // a number, bool or id: short and ASCII
}

// smallIntegers are the texts of those that need no memory: status codes and the like.
var smallIntegers = func() (texts [1000]string) {
	for i := range texts {
		texts[i] = strconv.Itoa(i)
	}
	return texts
}()

func (p *plan[C]) skip(why reason, b *Batch) {
	switch why {
	case unmatched:
		b.Skipped.Unmatched++
	case missingKey:
		b.Skipped.MissingKey++
	case badWeight:
		b.Skipped.BadWeight++
	default:
		b.Skipped.Errors++
		if b.Err == nil {
			b.Err = p.onFailed
		}
	}
}
