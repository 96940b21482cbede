package depot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	sealVersion = 1
	sealBytes   = 1 + 8 // version and checksum

	// MaxKeyBytes is the most that a key may hold: what bbolt takes, and room for asidePrefix.
	MaxKeyBytes = 32_768 - len(asidePrefix)
	// MaxValueBytes is the most that a value may hold.
	MaxValueBytes = 64 << 20
)

// errDamaged is of a value that is not as it was written, or was written by a version that this one does not know.
var errDamaged = errors.New("depot: the stored value is damaged")

// check says why value cannot be stored under key.
func check(key string, value []byte) error {
	switch {
	case key == "" || len(key) > MaxKeyBytes:
		return fmt.Errorf("depot: a key of %d bytes, allowed is 1 to %d", len(key), MaxKeyBytes)
	case strings.HasPrefix(key, asidePrefix):
		return fmt.Errorf("depot: a key that begins with %q, which is for what was set aside", asidePrefix)
	case len(value) > MaxValueBytes:
		return fmt.Errorf("depot: a value of %d bytes, allowed is up to %d", len(value), MaxValueBytes)
	}
	return nil
}

// seal makes what is stored under key for value.
func seal(key string, value []byte) []byte {
	sealed := make([]byte, 0, sealBytes+len(value))
	sealed = append(sealed, sealVersion)
	sealed = binary.LittleEndian.AppendUint64(sealed, checksum(key, value))
	return append(sealed, value...)
}

// open returns the value in what is stored under key; it shares memory with sealed.
func open(key string, sealed []byte) ([]byte, error) {
	if len(sealed) < sealBytes || len(sealed) > sealBytes+MaxValueBytes {
		return nil, fmt.Errorf("%w: %d bytes, allowed is %d to %d", errDamaged, len(sealed), sealBytes, sealBytes+MaxValueBytes)
	}
	if sealed[0] != sealVersion {
		return nil, fmt.Errorf("%w: version %d, known is %d", errDamaged, sealed[0], sealVersion)
	}
	value := sealed[sealBytes:]
	if binary.LittleEndian.Uint64(sealed[1:]) != checksum(key, value) {
		return nil, fmt.Errorf("%w: its checksum does not fit", errDamaged)
	}
	return value, nil
}

// checksum is bound to the key, so that a value under the key of another is damaged.
func checksum(key string, value []byte) uint64 { return xxh3.HashSeed(value, xxh3.HashString(key)) }
