package depot

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	killRounds = flag.Int("kill.rounds", 6, "how often TestWhatWasReportedSurvivesKill kills the writer")
	killSeed   = flag.Uint64("kill.seed", uint64(time.Now().UnixNano()), "when it does")
)

const (
	writerDir = "DEPOT_WRITER_DIR" // set: the process is the writer
	writers   = 4
	kept      = 10 // values a writer keeps
)

func numbered(writer, n int) string { return fmt.Sprintf("writer-%d/%d", writer, n) }

// writeUntilKilled sets value after value, each with the deletion of an old one, and reports what is committed.
func writeUntilKilled(dir string) {
	d, err := connect(dir)
	if err != nil {
		panic(err)
	}
	next := [writers]int{}
	if err := d.Walk(ctx, func(v Value) {
		var w, n int
		if _, err := fmt.Sscanf(v.Key, "writer-%d/%d", &w, &n); err == nil {
			next[w] = max(next[w], n+1)
		}
	}); err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := next[w]; ; n++ {
				var c Change
				if err := c.Set(numbered(w, n), fmt.Appendf(nil, "%d of %d, %0*d", n, w, n%5000, 0)); err != nil {
					panic(err)
				}
				c.Delete(numbered(w, n-kept))
				d.Apply(&c)
				if err := d.Commit(ctx); err != nil {
					panic(err)
				}
				fmt.Printf("%d %d\n", w, n)
			}
		})
	}
	all.Wait()
}

// A writer is killed at random moments, again and again on one file. Whatever it reported is there, and each Change is there
// whole or not at all.
func TestWhatWasReportedSurvivesKill(t *testing.T) {
	t.Logf("-kill.seed=%d", *killSeed)
	r := rand.New(rand.NewPCG(*killSeed, 0))
	dir := t.TempDir()
	reported := [writers]int{-1, -1, -1, -1}
	for range *killRounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerDir+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for left := r.IntN(2000); lines.Scan(); left-- {
			if left == 0 {
				require.NoError(t, cmd.Process.Kill()) // and read what is left in the pipe
			}
			var w, n int
			_, err := fmt.Sscanf(lines.Text(), "%d %d", &w, &n)
			if err == nil {
				require.Greater(t, n, reported[w])
				reported[w] = n
			}
		}
		require.ErrorContains(t, cmd.Wait(), "killed")

		d, held := reopen(t, dir)
		require.Zero(t, d.Damaged())
		require.NoError(t, d.Close(ctx))
		count := 0
		for w, last := range reported {
			for held[numbered(w, last+1)] != "" {
				last++ // committed, and killed before it was reported
			}
			for n := max(0, last-kept+1); n <= last; n++ {
				value, ok := held[numbered(w, n)]
				require.True(t, ok, "%s is lost; the last one is %d, reported was %d", numbered(w, n), last, reported[w])
				require.True(t, strings.HasPrefix(value, fmt.Sprintf("%d of %d, ", n, w)))
				count++
			}
		}
		require.Len(t, held, count)
	}
}
