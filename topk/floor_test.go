package topk

// floor does the least that any such engine must, on the table and cells that s has in the end: the same hash, one
// probe, and for each miss five cells read. Nothing is written.
func floor(s *Summary, keys []string) (sum uint64) {
	var b block
	for len(keys) > 0 {
		n := min(blockSize, len(keys))
		for i, key := range keys[:n] {
			k := identify(key, s.shape.Seed)
			b.place[i&(blockSize-1)], b.id[i&(blockSize-1)] = k.place, k.id
		}
		tags, slots := s.residents.tags, s.residents.hot
		mask := uint64(len(tags) - 1)
		misses := 0
		for i := 0; i < n && i < blockSize; i++ {
			p := b.place[i]
			g := p >> 7 & mask
			d := slots[g*lanes+lane(matches(tags[g], tagged(p)))].id ^ b.id[i]
			b.missed[misses&(blockSize-1)] = uint8(i)
			misses += int((d | -d) >> 63)
		}
		if s.tail != nil {
			cells, width := s.tail.narrow, uint64(s.shape.Width)
			for _, i := range b.missed[:misses] {
				k := identity{b.place[i], b.id[i]}
				sum += uint64(min(
					cells[(k.place*rowMul[0]>>32)*width>>32],
					cells[(k.id*rowMul[1]>>32)*width>>32+width],
					cells[(k.place*rowMul[2]>>32)*width>>32+2*width],
					cells[(k.id*rowMul[3]>>32)*width>>32+3*width],
					cells[(k.place*rowMul[4]>>32)*width>>32+4*width]))
			}
		}
		keys = keys[n:]
	}
	return sum
}
