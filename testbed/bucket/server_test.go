package bucket

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob"
)

func open(t *testing.T, address string) *blob.Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	b, err := blob.OpenBucket(t.Context(), URL(address, "archive"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

func TestTheServerKeepsObjectsAcrossAStop(t *testing.T) {
	s := Start(t)
	s.Create(t, "archive")
	b := open(t, s.Address)
	require.NoError(t, b.WriteAll(t.Context(), "a=1/b", []byte("content"), nil))
	s.Stop()
	require.Error(t, b.WriteAll(t.Context(), "a=1/c", []byte("content"), nil))
	s.Again(t)
	got, err := b.ReadAll(t.Context(), "a=1/b")
	require.NoError(t, err)
	assert.Equal(t, "content", string(got))
	list := b.List(nil)
	o, err := list.Next(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "a=1/b", o.Key)
	_, err = list.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
}
