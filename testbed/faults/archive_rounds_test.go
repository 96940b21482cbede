package faults

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What an archiver has answered is in the archive, once, however often it is killed; and no file is ever listed half.
func TestKilledArchiversLoseNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	first := chosenSeed()
	f := newFolders(t, folders{})
	m := startArchiver(t, f, f.url())
	b, reading := newBook(), startReader(t, f.url())
	done := tally{kind: "archive", first: first}
	defer func() {
		done.kills = m.kills
		done.batches, done.repeats = b.counts()
		done.report(t, reading.count())
	}()
	for i := range *rounds {
		seed := first + uint64(i)
		what := fmt.Sprintf("kind archive, seed %d", seed)
		t.Log(what)
		rng := rand.New(rand.NewPCG(seed, 8))
		end := writing(scribes(t, m, seed, b))
		for range 1 + rng.IntN(3) {
			pause(rng, 300*time.Millisecond, 2*time.Second)
			if rng.IntN(2) == 0 {
				awaitFile(t, f.archive)
				pause(rng, 0, 5*time.Millisecond)
			}
			m.kill()
			if len(temporary(t, f.archive)) > 0 {
				done.halves++
			}
			m.restart(t, rng)
		}
		pause(rng, 300*time.Millisecond, time.Second)
		end()
		require.NoError(t, reading.holds(b), what)
		done.rounds++
	}
	for _, path := range temporary(t, f.archive) { // half tables go when nobody has written to them for ten minutes
		require.True(t, strings.HasPrefix(path, f.archive+"/tables/") || strings.HasPrefix(path, f.archive+"/lists/"), "%s was not ended", path)
	}
}

// awaitFile waits until a file comes into an archive, which is while a segment is converted.
func awaitFile(t *testing.T, folder string) {
	t.Helper()
	before := len(filesBelow(t, folder))
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		if len(filesBelow(t, folder)) != before {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// temporary files of a folder are those that are none of the archive.
func temporary(t *testing.T, folder string) (list []string) {
	t.Helper()
	for _, path := range filesBelow(t, folder) {
		if !strings.HasSuffix(path, ".parquet") {
			list = append(list, path)
		}
	}
	return list
}

// filesBelow a folder, which may be gone by the time they are looked at.
func filesBelow(t *testing.T, folder string) (list []string) {
	t.Helper()
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			list = append(list, path)
		}
		return nil
	})
	return list
}
