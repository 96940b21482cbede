package field

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestWhatIsWrittenIsReadAndNothingOfAPartOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			flag   = rapid.Byte().Draw(t, "byte")
			small  = rapid.Uint32().Draw(t, "32")
			large  = rapid.Uint64().Draw(t, "64")
			signed = rapid.Int64().Draw(t, "signed")
			text   = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "text")
		)
		b := append([]byte{7}, flag)
		b = binary.LittleEndian.AppendUint32(b, small)
		b = binary.LittleEndian.AppendUint64(b, large)
		b = binary.AppendUvarint(b, large)
		b = binary.AppendVarint(b, signed)
		b = AppendText(b, text)
		read := func(b []byte) *Reader {
			r := New(b)
			r.Version(7)
			if got := r.Byte(); !r.Broken() {
				assert.Equal(t, flag, got)
			}
			if got := r.Fixed32(); !r.Broken() {
				assert.Equal(t, small, got)
			}
			if got := r.Fixed64(); !r.Broken() {
				assert.Equal(t, large, got)
			}
			if got := r.Uint(); !r.Broken() {
				assert.Equal(t, large, got)
			}
			if got := r.Int(); !r.Broken() {
				assert.Equal(t, signed, got)
			}
			if got := r.Text(20); !r.Broken() {
				assert.Equal(t, string(text), string(got))
			}
			return r
		}
		assert.True(t, read(b).Whole())
		assert.False(t, read(append(b, 0)).Whole())
		assert.True(t, read(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]).Broken())
	})
}

func TestWhatDoesNotFitBreaksTheReader(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"another version":          func(r *Reader) { r.Version(1) },
		"a number above the limit": func(r *Reader) { r.UpTo(2) },
		"more than there is room":  func(r *Reader) { r.Count(4) },
		"a text above the limit":   func(r *Reader) { r.Text(2) },
		"fewer bytes":              func(r *Reader) { r.Bytes(9) },
		"a negative number":        func(r *Reader) { r.Bytes(-1) },
		"what must hold":           func(r *Reader) { r.Require(false) },
	} {
		t.Run(name, func(t *testing.T) {
			r := New([]byte{3, 'a', 'b', 'c', 1})
			read(r)
			assert.True(t, r.Broken())
			assert.False(t, r.Whole())
			assert.Empty(t, r.Rest())
			assert.Zero(t, r.Uint())
			assert.Nil(t, r.Bytes(1))
		})
	}
}
