package table_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

var ctx = context.Background()

// readAll is all that can be read of b, or why it cannot.
func readAll(t require.TestingT, b []byte) (*table.Meta, []table.Row, error) {
	opened, err := table.Open(inMemory(b))
	if err != nil {
		return nil, nil, err
	}
	var all []table.Row
	for row, err := range opened.All(ctx) {
		if err != nil {
			return nil, nil, err
		}
		all = append(all, row)
	}
	for i := range all {
		row, err := opened.Count(ctx, all[i].Group, all[i].Key)
		if err != nil {
			return nil, nil, err
		}
		require.Equal(t, all[i], row)
	}
	return opened.Meta(), all, nil
}

func blamed(err error) bool {
	return errors.Is(err, archive.ErrDamaged) || errors.Is(err, archive.ErrForeign)
}

func TestADamagedTableIsRefusedOrReadAsItWas(t *testing.T) {
	rows := many(300, 0)
	whole := write(t, meta, rows)
	wholeMeta, _, err := readAll(t, whole)
	require.NoError(t, err)
	refused := 0
	check := func(b []byte, at int) {
		m, read, err := readAll(t, b)
		if err != nil {
			refused++
			require.True(t, blamed(err), "at %d: %v", at, err)
			return
		}
		require.Equal(t, rows, read, "at %d", at)
		require.Equal(t, wholeMeta, m, "at %d", at)
	}
	for at := range whole {
		for _, bit := range []byte{0x01, 0x80} {
			b := bytes.Clone(whole)
			b[at] ^= bit
			check(b, at)
		}
	}
	assert.Greater(t, refused, len(whole))
	for n := range whole {
		_, _, err := readAll(t, whole[:n])
		require.True(t, blamed(err), "%d of %d bytes: %v", n, len(whole), err)
	}
}

func TestAForeignFileIsSaidToBeOne(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, parquet.Write(&b, []struct{ X int }{{1}}))
	_, err := table.Open(inMemory(b.Bytes()))
	assert.ErrorIs(t, err, archive.ErrForeign)
	_, err = table.Open(inMemory([]byte("no Parquet at all")))
	assert.True(t, blamed(err), err)
	_, err = table.Open(inMemory(nil))
	assert.True(t, blamed(err), err)
}

// failing is an object that fails to be read from a byte on.
type failing struct {
	object
	from int64
}

var errGone = errors.New("the network is gone")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errGone
	}
	return f.object.ReadAt(p, off)
}

func TestAnErrorOfReadingIsNoDamage(t *testing.T) {
	whole := write(t, meta, many(5000, 0))
	_, err := table.Open(failing{inMemory(whole), 0})
	require.ErrorIs(t, err, errGone)
	require.False(t, blamed(err))

	object := &switched{object: inMemory(whole)}
	opened, err := table.Open(object)
	require.NoError(t, err)
	object.fails = true
	_, err = opened.Count(t.Context(), rule.Group{}, "key-000000001")
	require.ErrorIs(t, err, errGone)
	for _, err := range opened.Rows(t.Context(), rule.Group{}) {
		require.ErrorIs(t, err, errGone)
	}
	object.fails = false
	_, err = opened.Count(t.Context(), rule.Group{}, "key-000000001")
	require.NoError(t, err, "it works again")
}

type switched struct {
	object
	fails bool
}

func (s *switched) ReadAt(p []byte, off int64) (int, error) {
	if s.fails {
		return 0, errGone
	}
	return s.object.ReadAt(p, off)
}

func FuzzOpen(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rows := range [][]table.Row{nil, {{Key: "a", Weight: 1, Records: 1}}, many(100, 200)} {
		whole := write(f, meta, rows)
		f.Add(whole)
		for range 5 {
			b := bytes.Clone(whole)
			b[r.IntN(len(b))] ^= 0xff
			f.Add(b)
			f.Add(b[:r.IntN(len(b))])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, rows, err := readAll(t, b)
		if err != nil {
			require.True(t, blamed(err), err)
			return
		}
		written := *m
		require.NoError(t, table.Write(io.Discard, written, sequence(rows)), "what is read may be written")
	})
}
