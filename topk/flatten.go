package topk

// Flatten forgets what the tail knows of each key: all its cells read theta from now on. The residents stay as they are, so
// what changes is the bound of keys that are not resident, to theta. Encoded under a compressor, a flat tail takes no room.
func (s *Summary) Flatten() {
}
