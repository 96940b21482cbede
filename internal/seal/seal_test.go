package seal

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

type row struct {
	A string
	B int64
}

// sealed is a file of that many rows, in two row groups.
func sealed(t *testing.T, rows int) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	p := parquet.NewGenericWriter[row](w)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		_, err := p.Write([]row{{string(rune('a' + i%26)), random.Int64()}})
		require.NoError(t, err)
		if i == rows/2 {
			require.NoError(t, p.Flush())
		}
	}
	require.NoError(t, p.Flush())
	for _, pair := range w.BeginTail() {
		p.SetKeyValueMetadata(pair[0], pair[1])
	}
	require.NoError(t, p.Close())
	require.NoError(t, w.Finish())
	return out.Bytes()
}

func TestASealedFileIsAParquetFile(t *testing.T) {
	data := sealed(t, 30000)
	require.Greater(t, len(data), 3*BlockBytes)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	file, err := parquet.OpenFile(f, f.Size())
	require.NoError(t, err)
	rows := parquet.NewGenericReader[row](file)
	require.EqualValues(t, 30000, rows.NumRows())
	found := make([]row, 30000)
	n, err := rows.Read(found)
	require.Equal(t, 30000, n)
	require.True(t, err == nil || errors.Is(err, io.EOF))
	require.NoError(t, rows.Close())
}

func TestReadsAreThoseOfTheFile(t *testing.T) {
	data := sealed(t, 30000)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		p, want := make([]byte, random.IntN(3*BlockBytes)), make([]byte, 3*BlockBytes)
		offset := random.Int64N(int64(len(data)) + 10)
		n, err := f.ReadAt(p, offset)
		wanted, wantErr := bytes.NewReader(data).ReadAt(want[:len(p)], offset)
		require.Equal(t, wanted, n)
		require.Equal(t, wantErr == nil, err == nil)
		require.Equal(t, want[:n], p[:n])
	}
}

func TestAnyChangedByteIsNoticed(t *testing.T) {
	data := sealed(t, 10)
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1 << (i % 8)
		f, err := Open(bytes.NewReader(changed), int64(len(changed)))
		if err == nil {
			_, err = f.ReadAt(make([]byte, len(changed)), 0)
		}
		require.True(t, errors.Is(err, ErrChanged) || errors.Is(err, ErrUnsealed), "byte %d: %v", i, err)
	}
	for n := range data {
		_, err := Open(bytes.NewReader(data[:n]), int64(n))
		require.ErrorIs(t, err, ErrChanged, n)
	}
}

func TestForeignFilesAreUnsealed(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, parquet.Write(&out, []row{{"a", 1}}))
	for _, data := range [][]byte{out.Bytes(), []byte("no Parquet file at all")} {
		_, err := Open(bytes.NewReader(data), int64(len(data)))
		require.ErrorIs(t, err, ErrUnsealed)
	}
}
