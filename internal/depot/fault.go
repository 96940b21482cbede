package depot

import (
	"fmt"
	"runtime/debug"
)

// use the client, as who leads. bbolt panics on a damaged file, and may hold a lock for ever then: the client is left alone
// from then on.
func (d *Depot) use(call func() error) (err error) {
	if d.broken != nil {
		return d.broken
	}
	defer func() {
		if d.visiting {
			return // a panic of the visitor goes on
		}
		if r := recover(); r != nil {
			err = brokenBy(r)
			d.broken = err
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return call()
}

// survive makes an error of a panic in call, and of a fault: bbolt reads a file as memory, and the file may be shorter than it
// says.
func survive(call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = brokenBy(r)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return call()
}

func brokenBy(panicked any) error { return fmt.Errorf("the storage is damaged: %v", panicked) }
