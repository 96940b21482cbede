package storagecheckextension

import (
	"bytes"
	"errors"
	"fmt"
)

// element of a page.
type element struct {
	key   []byte
	child uint64 // of a branch
	value span   // of a leaf, in the file
	kind  uint32 // of a leaf's
}

type span struct{ at, size int64 }

// walk all pages below one, whose keys are from low on and below high; nil: no bound.
func (p *pages) walk(id uint64, low, high []byte) error {
	g, err := p.page(id, branchPage|leafPage)
	if err == nil {
		err = p.elements(g, low, high)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (p *pages) elements(g *page, low, high []byte) error {
	if g.flags == branchPage && g.count == 0 {
		return errors.New("a branch to nothing")
	}
	all := make([]element, g.count)
	for i := range all {
		if err := p.element(g, i, &all[i]); err != nil {
			return err
		}
		if key := all[i].key; i > 0 && bytes.Compare(all[i-1].key, key) >= 0 || bytes.Compare(key, low) < 0 || high != nil && bytes.Compare(key, high) >= 0 {
			return fmt.Errorf("element %d is out of order", i)
		}
	}
	for i, e := range all {
		var err error
		switch {
		case g.flags == branchPage && i+1 < len(all):
			err = p.walk(e.child, e.key, all[i+1].key)
		case g.flags == branchPage:
			err = p.walk(e.child, e.key, high)
		case e.kind == bucketLeaf:
			err = p.bucket(e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pages) element(g *page, i int, e *element) error {
	at := int64(headerBytes + i*elementBytes)
	b, err := p.bytes(g, at, elementBytes)
	if err != nil {
		return err
	}
	var pos, keyBytes, valueBytes int64
	if g.flags == branchPage {
		pos, keyBytes, e.child = int64(order.Uint32(b)), int64(order.Uint32(b[4:])), order.Uint64(b[8:])
	} else {
		e.kind, pos, keyBytes, valueBytes = order.Uint32(b), int64(order.Uint32(b[4:])), int64(order.Uint32(b[8:])), int64(order.Uint32(b[12:]))
	}
	if e.kind > bucketLeaf || p.depth == 0 && g.flags == leafPage && e.kind != bucketLeaf {
		return fmt.Errorf("element %d is of the kind %#x", i, e.kind)
	}
	if keyBytes == 0 || keyBytes > maxKeyBytes || at+pos+keyBytes+valueBytes > g.size {
		return fmt.Errorf("element %d has no key, or points beyond its page", i)
	}
	e.value = span{g.at + at + pos + keyBytes, valueBytes}
	e.key, err = p.bytes(g, at+pos, keyBytes)
	return err
}

// bucket is a tree of its own.
func (p *pages) bucket(value span) error {
	if value.size < bucketBytes {
		return errors.New("a bucket without a root")
	}
	b, err := p.read(value.at, bucketBytes)
	if err != nil {
		return err
	}
	p.depth++
	defer func() { p.depth-- }()
	if root := order.Uint64(b); root != 0 {
		return p.walk(root, nil, nil)
	}
	g, err := p.open(value.at+bucketBytes, value.size-bucketBytes, leafPage)
	if err != nil {
		return err
	}
	if id, more := order.Uint64(g.ahead), order.Uint32(g.ahead[12:]); id != 0 || more != 0 {
		return fmt.Errorf("a page in a bucket says that it is page %d of %d more", id, more)
	}
	return p.elements(g, nil, nil)
}
