package depot

import "go.opentelemetry.io/collector/extension/xextension/storage"

// Change is a set of writes that become durable together or not at all. The zero value is empty and ready. Not safe for
// concurrent use.
type Change struct{ writes map[string]*storage.Operation }

// Set value under key. The change keeps no reference to value.
func (c *Change) Set(key string, value []byte) {
	c.write(storage.SetOperation(key, seal(make([]byte, 0, sealBytes+len(value)), key, value)))
}

// Delete what is stored under key.
func (c *Change) Delete(key string) { c.write(storage.DeleteOperation(key)) }

func (c *Change) write(op *storage.Operation) {
	if c.writes == nil {
		c.writes = map[string]*storage.Operation{}
	}
	c.writes[op.Key] = op
}

// Get what the change sets under key, nil if it deletes it; ok is false if it does neither.
func (c *Change) Get(key string) (value []byte, ok bool) {
	op := c.writes[key]
	switch {
	case op == nil:
		return nil, false
	case op.Value == nil:
		return nil, true
	}
	return op.Value[sealBytes:], true
}

// Apply sets and deletes all that c holds at once, so that no Commit writes a part of it, and empties c.
func (d *Depot) Apply(c *Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, op := range c.writes {
		d.buffer[key] = op
	}
	clear(c.writes)
}
