package storagecheckextension

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func checked(content []byte) error { return checkPages(bytes.NewReader(content), int64(len(content))) }

func TestWholeFilesPass(t *testing.T) {
	for name, sizes := range files {
		require.NoError(t, checked(newFile(t, filepath.Join(t.TempDir(), "file"), sizes...)), name)
	}
}

func TestDamageIsFound(t *testing.T) {
	whole := newFile(t, filepath.Join(t.TempDir(), "file"), files["small values on two levels"]...)
	newest := bytes.Index(whole, []byte("key 599")) / testPage * testPage // no page that is no longer used holds it
	random := rand.NewChaCha8([32]byte{1})
	noise := func(b []byte) { _, _ = random.Read(b) }
	for _, row := range []struct {
		situation string
		damage    func(b []byte) []byte
		want      string // "": none
	}{
		{"noise all over", func(b []byte) []byte { noise(b); return b }, "no good meta page"},
		{"zeros all over", func(b []byte) []byte { clear(b); return b }, "no good meta page"},
		{"text", func([]byte) []byte { return []byte("no database") }, "no good meta page"},
		{"both meta pages", func(b []byte) []byte { noise(b[:8192]); return b }, "no good meta page"},
		{"one meta page", func(b []byte) []byte { noise(b[:4096]); return b }, ""},
		{"noise but for the meta pages", func(b []byte) []byte { noise(b[8192:]); return b }, "says that it is page"},
		{"zeros but for the meta pages", func(b []byte) []byte { clear(b[8192:]); return b }, "says that it is page 0"},
		{"zeros in one page", func(b []byte) []byte { clear(b[newest : newest+testPage]); return b }, "says that it is page 0"},
		{"what is before that page", func(b []byte) []byte { return b[:newest] }, "beyond the end"},
		{"its first pages", func(b []byte) []byte { return b[:8192] }, "beyond the end"},
		{"a bit more than its first page", func(b []byte) []byte { return b[:5000] }, "beyond the end"},
		{"a value", func(b []byte) []byte { copy(b[bytes.Index(b, []byte("value 599")):], "valve"); return b }, ""},
	} {
		t.Run(row.situation, func(t *testing.T) {
			damaged := row.damage(slices.Clone(whole))
			damage, err := inspect(write(t, "file", damaged))
			require.NoError(t, err)
			if row.want == "" {
				assert.NoError(t, damage)
				assert.NoError(t, checked(damaged))
				return
			}
			assert.Error(t, damage)
			assert.ErrorContains(t, checked(damaged), row.want)
		})
	}
}

// What passes is read and written by bbolt to its end. A page that bbolt stumbles over would end this test's process.
func TestWhatPassesCanBeUsed(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 3))
	passed, found := 0, 0
	for name, sizes := range files {
		whole := newFile(t, filepath.Join(t.TempDir(), "file"), sizes...)
		for range 150 {
			content := disturb(random, slices.Clone(whole))
			damage, err := inspect(write(t, "file", content))
			require.NoError(t, err)
			if damage != nil {
				found++
				continue
			}
			passed++
			use(t, write(t, "file", content))
		}
		t.Log(name, passed, found)
	}
	assert.Greater(t, passed, 50)
	assert.Greater(t, found, 100)
}

const testPage = 4096

// disturb a file in one of the ways that disks and power cuts do.
func disturb(random *rand.Rand, b []byte) []byte {
	at := func(n int) []byte { return b[n*testPage : (n+1)*testPage] }
	first, second := random.IntN(len(b)/testPage), random.IntN(len(b)/testPage)
	switch random.IntN(7) {
	case 0: // a byte of a page's head
		at(first)[random.IntN(64)] ^= byte(1 + random.IntN(255))
	case 1: // a bit
		b[random.IntN(len(b))] ^= 1 << random.IntN(8)
	case 2: // a number
		binary.NativeEndian.PutUint32(at(first)[4*random.IntN(testPage/4):], uint32(random.IntN(len(b))))
	case 3: // a page that was not written
		clear(at(first))
	case 4: // a page in the place of another
		copy(at(first), at(second))
	case 5: // the end
		b = b[:random.IntN(len(b))+1]
	case 6: // a reference of a page's first elements
		binary.NativeEndian.PutUint64(at(first)[16+8*random.IntN(20):], uint64(second))
	}
	return b
}

func FuzzCheckPages(f *testing.F) {
	for _, sizes := range files {
		whole := newFile(f, filepath.Join(f.TempDir(), "file"), sizes[:min(len(sizes), 3)]...)
		whole = bytes.TrimRight(whole, "\x00")
		f.Add(whole)
		f.Add(whole[:len(whole)/2])
	}
	f.Fuzz(func(_ *testing.T, content []byte) { _ = checked(content) })
}
