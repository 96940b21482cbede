package depot

import (
	"encoding/binary"
	"errors"

	"github.com/zeebo/xxh3"
)

const (
	sealVersion = 1
	sealBytes   = 1 + 8 // version and checksum

	// MaxValueBytes is the most that a value may hold.
	MaxValueBytes = 64 << 20
)

// ErrDamaged is of a value that is not as it was written.
var ErrDamaged = errors.New("depot: the stored value is damaged")

// seal appends to dst what is stored under key for value.
func seal(dst []byte, key string, value []byte) []byte {
	dst = append(dst, sealVersion)
	dst = binary.LittleEndian.AppendUint64(dst, checksum(key, value))
	return append(dst, value...)
}

// open returns the value in what is stored under key; it shares memory with sealed.
func open(key string, sealed []byte) ([]byte, error) {
	if len(sealed) < sealBytes || len(sealed) > sealBytes+MaxValueBytes || sealed[0] != sealVersion {
		return nil, ErrDamaged
	}
	value := sealed[sealBytes:]
	if binary.LittleEndian.Uint64(sealed[1:]) != checksum(key, value) {
		return nil, ErrDamaged
	}
	return value, nil
}

func checksum(key string, value []byte) uint64 { return xxh3.HashSeed(value, xxh3.HashString(key)) }
