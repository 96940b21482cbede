package faults

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// everything is the bucket of bbolt that file_storage keeps it in.
var everything = []byte("default")

// place of a stored value.
type place struct{ file, key string }

// stored is where the values of a member lie, which must not run.
func (m *member) stored(t *testing.T) []place {
	t.Helper()
	entries, err := os.ReadDir(m.folder)
	require.NoError(t, err)
	var list []place
	for _, entry := range entries {
		file := filepath.Join(m.folder, entry.Name())
		require.NoError(t, within(file, func(db *bbolt.DB) error {
			return db.View(func(tx *bbolt.Tx) error {
				return tx.Bucket(everything).ForEach(func(key, _ []byte) error {
					list = append(list, place{file, string(key)})
					return nil
				})
			})
		}))
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.key, b.key)) })
	return list
}

// flip a bit of a stored value.
func (p place) flip(t *testing.T, rng *rand.Rand) {
	t.Helper()
	require.NoError(t, within(p.file, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			value := slices.Clone(tx.Bucket(everything).Get([]byte(p.key)))
			value[rng.IntN(len(value))] ^= 1 << rng.IntN(8)
			return tx.Bucket(everything).Put([]byte(p.key), value)
		})
	}))
}

func within(file string, do func(*bbolt.DB) error) error {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}

// family of a value: its file and the first part of its key.
func (p place) family() string {
	first, _, _ := strings.Cut(p.key, "/")
	return filepath.Base(p.file) + " " + first
}

// newestCheckpoint is the places of the parts of an agent's newest whole checkpoint, and says whether a newer one was begun.
func newestCheckpoint(places []place) (newest []place, begun bool) {
	parts := make(map[string][]place)
	var heads []string
	last := ""
	for _, p := range places {
		if number, part, ok := strings.Cut(strings.TrimPrefix(p.key, "checkpoint/"), "/"); ok && strings.HasPrefix(p.key, "checkpoint/") {
			parts[number] = append(parts[number], p)
			last = max(last, number)
			if strings.Trim(part, "0") == "" {
				heads = append(heads, number)
			}
		}
	}
	if len(heads) == 0 {
		return nil, last != ""
	}
	head := slices.Max(heads)
	return parts[head], last != head
}
