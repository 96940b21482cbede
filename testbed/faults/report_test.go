package faults

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/otel-topk/collector/testbed/bucket"
)

// tally of the rounds of a kind.
type tally struct {
	kind    string
	first   uint64 // seed
	rounds  int
	kills   int
	halves  int // kills that left a checkpoint, the files of a segment or a recount half done
	hurts   int // stored values that were damaged
	batches int // answered
	repeats int // sent and not answered
}

func (t *tally) add(l *ledger) {
	t.batches += l.batches
	t.repeats += l.repeats
}

// reported tallies, for the page of results.
var reported struct {
	sync.Mutex
	rows []string
}

// report what was done until the test ended.
func (t *tally) report(test *testing.T, reads int) {
	outcome := "held"
	if test.Failed() {
		outcome = fmt.Sprintf("failed at seed %d", t.first+uint64(t.rounds))
	}
	row := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %s |",
		t.kind, t.first, t.rounds, t.kills, t.halves, t.hurts, t.batches, t.repeats, reads, outcome)
	test.Log(row)
	reported.Lock()
	defer reported.Unlock()
	reported.rows = append(reported.rows, row)
}

const page = `# Rounds of faults

Measured by ` + "`make faults`" + `: collectors killed by kill -9 at random moments under load, and started again from what they had stored.
After each round every list and key was held against what clients had been answered and what they had sent; of the kinds that archive,
every record of the archive.

| kind | first seed | rounds | kills | of them within a checkpoint, a conversion or a recount | values damaged | batches answered | batches sent without an answer | lists, or archives, read meanwhile | promises |
|---|---|---|---|---|---|---|---|---|---|
%s
`

func TestMain(m *testing.M) {
	flag.Parse()
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": bucket.AccessKey, "AWS_SECRET_ACCESS_KEY": bucket.SecretKey} {
		if err := os.Setenv(name, value); err != nil { // of this process, and of the collectors that it starts
			panic(err)
		}
	}
	code := m.Run()
	if *results != "" {
		slices.Sort(reported.rows)
		text := fmt.Sprintf(page, strings.Join(reported.rows, "\n"))
		if err := os.WriteFile(filepath.Join(*results, "faults.md"), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
