package depot

// Change is a set of writes that become durable together or not at all. The zero value is empty and ready. Not safe for
// concurrent use.
type Change struct{ writes map[string][]byte } // sealed; nil deletes

// Set is as of Depot.
func (c *Change) Set(key string, value []byte) error {
	if err := check(key, value); err != nil {
		return err
	}
	c.write(key, seal(key, value))
	return nil
}

// Delete what is stored under key.
func (c *Change) Delete(key string) { c.write(key, nil) }

func (c *Change) write(key string, sealed []byte) {
	if c.writes == nil {
		c.writes = map[string][]byte{}
	}
	c.writes[key] = sealed
}

// Get what the change sets under key, nil if it deletes it; ok is false if it does neither.
func (c *Change) Get(key string) (value []byte, ok bool) {
	sealed, ok := c.writes[key]
	if sealed == nil {
		return nil, ok
	}
	return sealed[sealBytes:], ok
}

// Apply sets and deletes all that c holds at once, so that no Commit writes a part of it, and empties c.
func (d *Depot) Apply(c *Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, sealed := range c.writes {
		if sealed == nil {
			d.drop(key)
		} else {
			d.put(key, sealed)
		}
	}
	clear(c.writes)
}
