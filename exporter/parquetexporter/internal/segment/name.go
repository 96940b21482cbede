package segment

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

const (
	suffix  = ".segment"
	idBytes = 16 // 6 of the time in milliseconds, 10 of chance
)

// newID is unlike every other one, and sorts by the time it was made.
func newID(now time.Time) (string, error) {
	var id [idBytes]byte
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	if _, err := rand.Read(id[6:]); err != nil {
		return "", fmt.Errorf("name of a segment: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// fileName of the segment id.
func fileName(signal, id string) string { return signal + "-" + id + suffix }

// parseName is the inverse of fileName; made is the time in the id.
func parseName(name string) (signal, id string, made time.Time, ok bool) {
	name, isSegment := strings.CutSuffix(name, suffix)
	signal, id, cut := strings.Cut(name, "-")
	raw, err := hex.DecodeString(id)
	if !isSegment || !cut || err != nil || len(raw) != idBytes || id != hex.EncodeToString(raw) {
		return "", "", time.Time{}, false
	}
	return signal, id, time.UnixMilli(int64(binary.BigEndian.Uint64(raw) >> 16)), true
}
