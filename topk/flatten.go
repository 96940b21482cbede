package topk

// Flatten forgets what the tail knows of each key: after Tighten, all its cells rise to theta, which then is all that is known of
// a key that is not resident. The residents and the number of distinct keys stay. Compressed, flat cells take next to no room.
func (s *Summary) Flatten() {
	if s.Tighten(); s.tail == nil {
		return
	}
	fill(s.tail.narrow, uint32(s.theta))
	fill(s.tail.wide, s.theta)
}

func fill[C cell](cells []C, v C) {
	for i := range cells {
		cells[i] = v
	}
}
