package depot

import "slices"

// asidePrefix stands before the key of a value that was set aside.
const asidePrefix = "damaged/"

// What is kept of damaged values for who wants to look at them; what is beyond is deleted.
const (
	maxAsideValues = 64
	maxAsideBytes  = 64 << 20
)

// SetAside the value under key, which was written whole and which its reader cannot make sense of: it counts as damaged.
func (d *Depot) SetAside(key string, value []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moveAside(key, seal(key, value))
}

// setAside what was read from storage, unless key has been written since.
func (d *Depot) setAside(key string, sealed []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.buffer[key] == nil {
		d.moveAside(key, sealed)
	}
}

func (d *Depot) moveAside(key string, sealed []byte) {
	d.damaged++
	if aside := asidePrefix + key; d.hasRoomAside(aside, len(sealed)) {
		if survive(func() error { d.put(aside, slices.Clone(sealed)); return nil }) != nil {
			delete(d.aside, aside) // it cannot be read whole
		}
	}
	d.drop(key)
}

// meetAside takes note of what was set aside earlier.
func (d *Depot) meetAside(aside string, size int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hasRoomAside(aside, size) {
		d.drop(aside)
	}
}

// hasRoomAside takes it, if there is.
func (d *Depot) hasRoomAside(aside string, size int) bool {
	_, known := d.aside[aside]
	values, bytes := len(d.aside)+1, size
	for key, n := range d.aside {
		if key != aside {
			bytes += n
		}
	}
	if known {
		values--
	}
	if values > maxAsideValues || bytes > maxAsideBytes {
		return false
	}
	d.aside[aside] = size
	return true
}

// Damaged is how many values were set aside since New, those included that were only deleted because there are many.
func (d *Depot) Damaged() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.damaged
}
