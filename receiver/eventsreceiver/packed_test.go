package eventsreceiver

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func packed(t testing.TB, text string, by func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var b bytes.Buffer
	w := by(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, errors.Join(err, w.Close()))
	return b.String()
}

func zipped(t testing.TB, text string) string {
	return packed(t, text, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

// packedAs is a text by each Content-Encoding that there is.
func packedAs(t testing.TB, text string) map[string]string {
	t.Helper()
	return map[string]string{
		"gzip":    zipped(t, text),
		"deflate": packed(t, text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"zlib":    packed(t, text, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"zstd": packed(t, text, func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithWindowSize(8<<20), zstd.WithEncoderConcurrency(1))
			require.NoError(t, err)
			return z
		}),
		"lz4": packed(t, text, func(w io.Writer) io.WriteCloser {
			z := lz4.NewWriter(w)
			require.NoError(t, z.Apply(lz4.BlockSizeOption(lz4.Block4Mb), lz4.ChecksumOption(true)))
			return z
		}),
		"snappy":          string(snappy.Encode(nil, []byte(text))),
		"x-snappy-framed": packed(t, text, func(w io.Writer) io.WriteCloser { return snappy.NewBufferedWriter(w) }),
	}
}

func allEncodings(c *Config) {
	c.ServerConfig.CompressionAlgorithms = []string{"", "gzip", "zlib", "deflate", "zstd", "lz4", "snappy", "x-snappy-framed"}
}

func TestABodyMayBePacked(t *testing.T) {
	for encoding, body := range packedAs(t, `[{"key":"a"}]`) {
		t.Run(encoding, func(t *testing.T) {
			s := serve(t, allEncodings, nil)
			status, _ := s.post(typeJSON, body, "Content-Encoding", encoding)
			assert.Equal(t, http.StatusAccepted, status)
			assert.Equal(t, []string{none + `{"key":"a"}`}, s.records())

			s = serve(t, nil, nil)
			status, text := s.post(typeJSON, body, "Content-Encoding", encoding)
			if encoding == "gzip" || encoding == "deflate" {
				assert.Equal(t, http.StatusAccepted, status)
			} else {
				assert.Equal(t, http.StatusUnsupportedMediaType, status)
				assert.Contains(t, text, "compression_algorithms")
			}
		})
	}
	s := serve(t, nil, nil)
	status, _ := s.post(typeJSON, `[]`, "Content-Encoding", "identity")
	assert.Equal(t, http.StatusAccepted, status)
}

func TestWhatIsUnpackedIsLimitedToo(t *testing.T) {
	for encoding, bomb := range packedAs(t, `["`+strings.Repeat("x", 64<<20)+`"]`) {
		t.Run(encoding, func(t *testing.T) {
			s := serve(t, allEncodings, nil)
			require.Less(t, len(bomb), 4<<20)
			status, text := s.post(typeJSON, bomb, "Content-Encoding", encoding)
			assert.Equal(t, map[bool]int{true: 400, false: 413}[encoding == "snappy"], status)
			assert.Contains(t, text, "more than the 4194304 bytes that max_request_body_size allows")
			assert.Empty(t, s.records())
		})
	}
}
