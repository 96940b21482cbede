package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/otel-topk/collector/internal/rule"
)

func openStore(t *testing.T, url string) *Store {
	s, err := OpenStore(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func put(t *testing.T, s *Store, path, text string) {
	size, err := s.Put(t.Context(), path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	require.NoError(t, err)
	require.EqualValues(t, len(text), size)
}

func read(t *testing.T, s *Store, path string) string {
	o, err := s.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { require.NoError(t, o.Close()) }()
	p := make([]byte, o.Size())
	n, err := o.ReadAt(p, 0)
	require.True(t, err == nil || errors.Is(err, io.EOF))
	require.Equal(t, len(p), n)
	n, err = o.ReadAt(make([]byte, 1), o.Size())
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
	return string(p)
}

// eachStore runs a test with a folder and with a bucket.
func eachStore(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Run("folder", func(t *testing.T) { test(t, openStore(t, "file://"+filepath.Join(t.TempDir(), "new", "archive"))) })
	t.Run("bucket", func(t *testing.T) {
		s := &Store{&bucket{blob.PrefixedBucket(memblob.OpenBucket(nil), "a/b/"), "mem://"}}
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		test(t, s)
	})
}

func TestAnObjectIsWholeOrAsItWas(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		entries, err := s.List(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, entries)
		_, err = s.Open(t.Context(), "logs/a")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, s.Delete(t.Context(), "logs/a"), "what is absent is deleted")

		broken := errors.New("broken")
		breaks := func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("half", 1<<10))
			require.NoError(t, err)
			return broken
		}
		_, err = s.Put(t.Context(), "logs/a", breaks)
		require.ErrorIs(t, err, broken)
		_, err = s.Open(t.Context(), "logs/a")
		require.ErrorIs(t, err, fs.ErrNotExist)

		put(t, s, "logs/a", "first")
		_, err = s.Put(t.Context(), "logs/a", breaks)
		require.ErrorIs(t, err, broken)
		require.Equal(t, "first", read(t, s, "logs/a"))
		put(t, s, "logs/a", "second")
		require.Equal(t, "second", read(t, s, "logs/a"))

		put(t, s, "logs/b/c", "")
		entries, err = s.List(t.Context(), "logs/")
		require.NoError(t, err)
		require.Equal(t, []Entry{{"logs/a", 6}, {"logs/b/c", 0}}, entries)
		entries, err = s.List(t.Context(), "logs/b")
		require.NoError(t, err)
		require.Equal(t, []Entry{{"logs/b/c", 0}}, entries)
		require.NoError(t, s.Delete(t.Context(), "logs/b/c"))
		require.NoError(t, s.Delete(t.Context(), "logs/a"))
		entries, err = s.List(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, entries)
	})
}

func TestAnEndedContextEndsEverything(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		put(t, s, "logs/a", "first")
		ctx, cancel := context.WithCancel(t.Context())
		o, err := s.Open(ctx, "logs/a")
		require.NoError(t, err)
		defer func() { require.NoError(t, o.Close()) }()
		cancel()
		_, err = o.ReadAt(make([]byte, 5), 0)
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Open(ctx, "logs/a")
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.List(ctx, "")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, s.Delete(ctx, "logs/a"), context.Canceled)
		_, err = s.Put(ctx, "logs/a", func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "first", read(t, s, "logs/a"))
	})
}

func TestWhatACrashLeavesIsNoObject(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, "file://"+root)
	name := FileName("pod/1", "0123456789abcdef")
	f := File{Signal: rule.SignalLogs, Hour: 5, Name: name}
	put(t, s, f.Path(), "whole")
	dir := filepath.Dir(filepath.Join(root, f.Path()))
	// What Put leaves when the process ends in it.
	left := func(name string) string {
		file, err := os.CreateTemp(dir, "."+name+".*"+temporarySuffix)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		return file.Name()
	}
	own, other := left(name), left(FileName("pod", "0123456789abcdef"))
	left(FileName("pod/1", "ffffffffffffffffff"))
	longer := left(FileName("pod/1-2", "0123456789abcdef"))
	files, foreign, err := s.Files(t.Context(), rule.SignalLogs, 0, 10)
	require.NoError(t, err)
	require.Empty(t, foreign)
	require.Equal(t, []File{{rule.SignalLogs, 5, name, 5}}, files)
	n, err := s.Tidy(t.Context(), "pod/1")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.NoFileExists(t, own)
	require.FileExists(t, other)
	require.FileExists(t, longer)
	require.Equal(t, "whole", read(t, s, f.Path()))
}

func TestHalfFilesThatNobodyWritesGo(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, "file://"+root)
	put(t, s, "tables/a/table.parquet", "whole")
	now := time.Now()
	left := func(path string, age time.Duration) string {
		path = filepath.Join(root, path)
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
		require.NoError(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
		return path
	}
	old, young := left("tables/a/.table.parquet.123.tmp", time.Hour), left("tables/a/.table.parquet.124.tmp", time.Second)
	put(t, s, "lists/a/table.parquet", "whole")
	elsewhere := left("lists/a/.table.parquet.125.tmp", time.Hour)
	n, err := s.Abandoned(t.Context(), "tables/", now.Add(-10*time.Minute))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoFileExists(t, old)
	require.FileExists(t, young)
	require.FileExists(t, elsewhere)
	require.Equal(t, "whole", read(t, s, "tables/a/table.parquet"))
	n, err = s.Abandoned(t.Context(), "nothing/", now)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAFolderThatVanishedIsNotMadeAgain(t *testing.T) {
	root := filepath.Join(t.TempDir(), "mount")
	s := openStore(t, "file://"+root)
	put(t, s, "logs/a", "x")
	require.NoError(t, os.RemoveAll(root))
	_, err := s.Put(t.Context(), "logs/a", func(io.Writer) error { return nil })
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoDirExists(t, root)
	entries, err := s.List(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestPathsDoNotLeaveTheArchive(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		for _, path := range []string{"", "/a", "a//b", "../a", "a/../b", "a/.", ".hidden", "a/", `a\b`, "a\x00"} {
			_, err := s.Put(t.Context(), path, func(io.Writer) error { return nil })
			require.Error(t, err, path)
			_, err = s.Open(t.Context(), path)
			require.Error(t, err, path)
			require.Error(t, s.Delete(t.Context(), path), path)
		}
	})
}

func TestURLsThatAreNoArchive(t *testing.T) {
	for _, row := range []struct{ url, says string }{
		{"", `"" is no URL`},
		{"/srv/archive", `"/srv/archive" is no URL; a folder is written file:///srv/archive`},
		{"/srv/my archive", "file:///srv/my%20archive"},
		{"archive", `"archive" is no URL; a folder is written file:// and its absolute path, as file:///srv/archive`},
		{"./archive?x=swordfish", `"./archive" is no URL`},
		{"ftp://host/folder", "is not one of file, s3, gs, azblob"},
		{"gcs://bucket", `scheme "gcs" is not one of file, s3, gs, azblob; this one is written gs://`},
		{"http://host:9000/bucket", "an S3 server is written s3://bucket?endpoint=http://host:port&use_path_style=true"},
		{"file://folder", "absolute path"},
		{"file:folder", "absolute path"},
		{"file:///folder?create_dir=true", "without parameters"},
		{"s3://", "s3://name"},
		{"s3://bucket/folder", "prefix=folder/"},
		{"s3://key:swordfish@bucket", "environment"},
		{"s3://bucket?secret=swordfish", "secret"},
		{"s3://bucket?region=eu&fips=swordfish", "fips"},
		{"s3://bucket?regio=a", "unknown query parameter"},
		{"\x00swordfish", "not a URL"},
	} {
		_, err := OpenStore(t.Context(), row.url)
		require.ErrorContains(t, err, row.says, row.url)
		require.NotContains(t, err.Error(), "swordfish", row.url)
		require.NotContains(t, err.Error(), "archive: ", "whoever opens it says whose URL it is: %s", row.url)
	}
}

func TestAnArchiveThatIsAFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := OpenStore(t.Context(), "file://"+file)
	require.EqualError(t, err, "file://"+file+" is a file; an archive is a folder")
}

func TestAnArchiveSaysWhetherItIsThere(t *testing.T) {
	root := filepath.Join(t.TempDir(), "archive")
	s := openStore(t, "file://"+root)
	require.Equal(t, "file://"+root, s.Name())
	for _, want := range []bool{false, true} {
		there, err := s.Exists(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, there)
		put(t, s, "logs/a", "x")
	}
	require.Equal(t, "s3://bucket", openStore(t, "s3://bucket?region=eu-central-1&prefix=swordfish/").Name())
}

func TestABucketThatIsDownIsNamedOnce(t *testing.T) {
	server := httptest.NewServer(nil)
	t.Setenv("AWS_ACCESS_KEY_ID", "user")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "swordfish")
	s := openStore(t, "s3://bucket?region=eu-central-1&use_path_style=true&endpoint="+server.URL)
	server.Close()
	path := File{Signal: rule.SignalLogs, Hour: 5, Name: FileName("pod", "0123456789abcdef")}.Path()
	_, err := s.Put(t.Context(), path, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
	require.ErrorContains(t, err, "archive: writing "+path+" of s3://bucket: ")
	require.Equal(t, 1, strings.Count(err.Error(), path), err)
	require.True(t, strings.HasSuffix(err.Error(), "connection refused"), err)
	require.Less(t, len(err.Error()), len(path)+150)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestFilesOfARange(t *testing.T) {
	eachStore(t, func(t *testing.T, s *Store) {
		name, second := FileName("a", "0123456789abcdef"), FileName("B", "0123456789abcdef")
		for _, h := range []Hour{-1, 0, 5, 30, 500000, 500001} {
			put(t, s, File{Signal: rule.SignalLogs, Hour: h, Name: name}.Path(), "x")
		}
		put(t, s, File{Signal: rule.SignalTraces, Hour: 5, Name: name}.Path(), "x")
		put(t, s, File{Signal: rule.SignalLogs, Hour: 5, Name: second}.Path(), "xy")
		strange := []string{
			"logs/year=1970/month=01/day=01/hour=05/README",
			"logs/year=1970/month=01/day=01/hour=05/deep/a-0123456789abcdef.parquet",
			"logs/year=1970/month=01/day=01/hour=05/part-0.parquet",
		}
		for _, path := range strange {
			put(t, s, path, "x")
		}
		hours := func(from, to Hour) (found []Hour) {
			files, foreign, err := s.Files(t.Context(), rule.SignalLogs, from, to)
			require.NoError(t, err)
			for _, f := range files {
				found = append(found, f.Hour)
			}
			if from <= 5 && to > 5 {
				require.Equal(t, strange, foreign)
				first := slices.Index(found, 5)
				require.Equal(t, []File{{rule.SignalLogs, 5, second, 2}, {rule.SignalLogs, 5, name, 1}}, files[first:first+2])
			} else {
				require.Empty(t, foreign)
			}
			return found
		}
		require.Equal(t, []Hour{5, 5}, hours(5, 6))
		require.Equal(t, []Hour{0, 5, 5, 30}, hours(0, 31))
		require.Equal(t, []Hour{0, 5, 5}, hours(0, 30))
		require.Equal(t, []Hour{-1, 0, 5, 5, 30}, hours(-2, 200))
		require.Equal(t, []Hour{-1, 0, 5, 5, 30, 500000}, hours(-1<<31, 500001))
		require.Empty(t, hours(6, 6))
		require.Empty(t, hours(31, 100))
	})
}
