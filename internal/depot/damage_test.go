package depot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

func TestADamagedValueIsSetAsideAndReportedOnce(t *testing.T) {
	const key = "value/002"
	for name, damage := range map[string]func(sealed []byte) []byte{
		"one bit of the value": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"one bit of the sum":   func(b []byte) []byte { b[3] ^= 0x80; return b },
		"a newer version":      func(b []byte) []byte { b[0] = sealVersion + 1; return b },
		"its end is missing":   func(b []byte) []byte { return b[:len(b)-3] },
		"shorter than a seal":  func(b []byte) []byte { return b[:sealBytes-1] },
		"nothing":              func([]byte) []byte { return []byte{} },
		"that of another key":  func([]byte) []byte { return seal("value/003", []byte("this is value 3")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			values := fill(t, dir, 5)
			var damaged []byte
			edit(t, dir, func(b *bbolt.Bucket) error {
				damaged = damage(bytes.Clone(b.Get([]byte(key))))
				return b.Put([]byte(key), damaged)
			})
			delete(values, key)

			d, held := reopen(t, dir)
			assert.Equal(t, values, held)
			for range 2 {
				value, err := d.Get(ctx, key)
				assert.NoError(t, err, "it was set aside")
				assert.Nil(t, value)
			}
			assert.EqualValues(t, 1, d.Damaged())
			require.NoError(t, d.Close(ctx))

			files := stored(t, dir)
			assert.Equal(t, string(damaged), files[asidePrefix+key], "as it was found")
			assert.Len(t, files, 5)
			d, held = reopen(t, dir)
			assert.Equal(t, values, held)
			assert.Zero(t, d.Damaged())
			require.NoError(t, d.Close(ctx))
		})
	}
}

func TestGetOfADamagedValueSaysSoOnce(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 1)
	edit(t, dir, func(b *bbolt.Bucket) error { return b.Put([]byte("value/000"), []byte("what is this?")) })
	d, err := connect(dir)
	require.NoError(t, err)
	_, err = d.Get(ctx, "value/000")
	require.ErrorIs(t, err, errDamaged)
	require.ErrorContains(t, err, "version 119, known is 1")
	value, err := d.Get(ctx, "value/000")
	assert.NoError(t, err)
	assert.Nil(t, value)
	assert.EqualValues(t, 1, d.Damaged())
	require.NoError(t, d.Close(ctx))
	assert.Equal(t, map[string]string{"damaged/value/000": "what is this?"}, stored(t, dir))
}

func TestAValueThatIsNotOpenedIsNotLookedAt(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 2)
	edit(t, dir, func(b *bbolt.Bucket) error { return b.Put([]byte("value/000"), []byte("what?")) })
	d, err := connect(dir)
	require.NoError(t, err)
	sizes := map[string]int{}
	require.NoError(t, d.Walk(ctx, func(v Value) { sizes[v.Key] = v.Size }))
	assert.Equal(t, map[string]int{"value/000": 5, "value/001": sealBytes + len("this is value 1")}, sizes)
	assert.Zero(t, d.Damaged())
	require.NoError(t, d.Close(ctx))
}

// A damaged value that was overwritten between reading and looking at it is of no interest.
func TestWhatIsSetMeanwhileIsNotSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(Memory{"key": []byte("damaged")})
		c := failing(d)
		c.hold = make(chan struct{})
		go func() {
			_, err := d.Get(ctx, "key")
			assert.ErrorIs(t, err, errDamaged)
		}()
		synctest.Wait()
		require.NoError(t, d.Set("key", []byte("new")))
		c.hold <- struct{}{}
		synctest.Wait()
		assert.Zero(t, d.Damaged())
		value, err := d.Get(ctx, "key")
		require.NoError(t, err)
		assert.Equal(t, "new", string(value))
	})
}

func TestWhatAReaderCannotMakeSenseOfIsSetAside(t *testing.T) {
	dir := t.TempDir()
	values := fill(t, dir, 3)
	d, err := connect(dir)
	require.NoError(t, err)
	require.NoError(t, d.Walk(ctx, func(v Value) {
		if value, ok := v.Open(); ok && v.Key == "value/001" {
			d.SetAside(v.Key, value)
		}
	}))
	assert.EqualValues(t, 1, d.Damaged())
	require.NoError(t, d.Close(ctx))
	assert.Equal(t, string(seal("value/001", []byte(values["value/001"]))), stored(t, dir)["damaged/value/001"])
	delete(values, "value/001")
	d, held := reopen(t, dir)
	assert.Equal(t, values, held)
	require.NoError(t, d.Close(ctx))
}

// Of many damaged values 64 are kept, also over several starts; the others are deleted, and counted all the same.
func TestWhatIsSetAsideIsBounded(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 0)
	for start := range 2 {
		edit(t, dir, func(b *bbolt.Bucket) error {
			for i := range maxAsideValues + 10 {
				if err := b.Put(fmt.Appendf(nil, "value/%d/%d", start, i), []byte("broken")); err != nil {
					return err
				}
			}
			return nil
		})
		d, held := reopen(t, dir)
		assert.Empty(t, held)
		assert.EqualValues(t, maxAsideValues+10, d.Damaged())
		require.NoError(t, d.Close(ctx))
		files := stored(t, dir)
		assert.Len(t, files, maxAsideValues)
		for key := range files {
			assert.True(t, strings.HasPrefix(key, asidePrefix), key)
		}
	}
}

func TestTheBytesSetAsideAreBounded(t *testing.T) {
	d := New(Memory{})
	big := make([]byte, maxAsideBytes/2)
	d.SetAside("a", big[sealBytes:])
	d.SetAside("b", big[sealBytes:])
	d.SetAside("c", nil)
	d.SetAside("a", big[sealBytes:])
	require.NoError(t, d.Commit(ctx))
	assert.Len(t, d.client, 2)
	assert.Contains(t, d.client, "damaged/a")
	assert.Contains(t, d.client, "damaged/b")
	assert.EqualValues(t, 4, d.Damaged())
}

// stretch makes the file say that the value under key is so much longer than it is.
func stretch(t *testing.T, path, key string, by uint32) {
	const header, element = 16, 16 // of a page: flags at 8, elements at 10; of an element: flags, place, key, value
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	size := os.Getpagesize()
	found := 0
	for page := 0; page < len(data); page += size {
		if binary.LittleEndian.Uint16(data[page+8:]) != 2 { // no leaf
			continue
		}
		for i := range int(binary.LittleEndian.Uint16(data[page+10:])) {
			e := page + header + element*i
			at := e + int(binary.LittleEndian.Uint32(data[e+4:]))
			if n := int(binary.LittleEndian.Uint32(data[e+8:])); at+n > len(data) || string(data[at:at+n]) != key {
				continue
			}
			v := data[e+12:]
			binary.LittleEndian.PutUint32(v, binary.LittleEndian.Uint32(v)+by)
			found++
		}
	}
	require.Positive(t, found)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// A file may say that a value reaches beyond its end; reading there is a fault, and ends a process that does not expect it.
func TestAValueThatCannotBeReadIsADamagedOne(t *testing.T) {
	for _, by := range []uint32{60 << 20, 1 << 30} {
		dir := t.TempDir()
		values := fill(t, dir, 100)
		stretch(t, file(t, dir), "value/001", by)
		delete(values, "value/001")
		d, held := reopen(t, dir)
		assert.Equal(t, values, held)
		assert.EqualValues(t, 1, d.Damaged())
		require.NoError(t, d.Close(ctx))
		assert.Len(t, stored(t, dir), 99, "there is nothing to keep of it")
	}
}

// The same where it is met in a transaction: the depot then touches the client no more, which may hold a lock for ever.
func TestAFaultOfTheStorageIsAnError(t *testing.T) {
	for name, meet := range map[string]func(d *Depot) error{
		"Get":    func(d *Depot) error { _, err := d.Get(ctx, "value/001"); return err },
		"Commit": func(d *Depot) error { _ = d.Set("value/000", nil); return d.Commit(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, 100)
			stretch(t, file(t, dir), "value/001", 60<<20)
			d, err := connect(dir)
			require.NoError(t, err)
			c := failing(d)
			require.ErrorContains(t, meet(d), "the storage is damaged: ")
			require.NoError(t, d.Set("value/004", nil))
			asked, batches := c.asked.Load(), c.batches.Load()
			require.ErrorContains(t, d.Commit(ctx), "the storage is damaged: ")
			require.ErrorContains(t, d.Walk(ctx, nil), "the storage is damaged: ")
			require.ErrorContains(t, d.Close(ctx), "the storage is damaged: ")
			assert.Equal(t, asked+batches, c.asked.Load()+c.batches.Load())
			assert.NoError(t, c.Close(ctx))
		})
	}
}

func TestAPanicOfAVisitorGoesOn(t *testing.T) {
	d := New(Memory{"key": seal("key", nil)})
	assert.PanicsWithValue(t, "a bug", func() { _ = d.Walk(ctx, func(Value) { panic("a bug") }) })
}

func FuzzOpen(f *testing.F) {
	f.Add("key", seal("key", []byte("value")))
	f.Add("key", seal("key", nil))
	f.Add("key", []byte{})
	f.Add("key", []byte{sealVersion, 2, 3})
	f.Add("other", seal("key", []byte("value")))
	f.Add("", append(seal("", []byte("value")), 0))
	f.Fuzz(func(t *testing.T, key string, sealed []byte) {
		if value, err := open(key, sealed); err == nil {
			if string(seal(key, value)) != string(sealed) {
				t.Errorf("%x opens to %x, which seals otherwise", sealed, value)
			}
		} else if value != nil {
			t.Error("a value with an error")
		}
		again := seal(key, sealed)
		if value, err := open(key, again); err != nil || string(value) != string(sealed) {
			t.Errorf("%x comes back as %x, %v", sealed, value, err)
		}
		for i := range min(len(again), 64) {
			again[i] ^= 1 << (i % 8)
			if _, err := open(key, again); err == nil {
				t.Errorf("byte %d is damaged and opens", i)
			}
			again[i] ^= 1 << (i % 8)
		}
		if _, err := open(fmt.Sprint(key, "."), again); err == nil {
			t.Error("opens under another key")
		}
	})
}
