package kafka_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	seed    = flag.Uint64("seed", 0, "of what is random; 0: of the clock")
	rounds  = flag.Int("rounds", 2, "of each kind")
	results = flag.String("results", "", "folder to write kafka.md to; none: nothing is written")
)

const page = `# Kafka under faults

Measured by ` + "`make kafka-faults`" + `: a producer, Apache Kafka 4.2, shards of one group and a gateway, of which something is killed by kill -9 (or comes and
goes) at a random moment of a load as fast as the producer answers, and comes back. After each round the list was held against the records that were answered,
each once, and those of the messages that were not committed when a shard or the broker was killed, twice at most; per key and in all.

| kind | seed | rounds | records answered | sent | not committed at a kill | counted | more, or less, than answered | promises |
|---|---|---|---|---|---|---|---|---|
%s
`

var rows []string

// report what was done until the test ended.
func (f *fleet) report(kind string) {
	outcome := "held"
	if f.Failed() {
		outcome = "failed"
	}
	total := f.list().Total
	row := fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %+d | %s |", kind, f.seed, *rounds,
		f.answered.Total, f.sent.Total, f.open.Total, total, int64(total)-int64(f.answered.Total), outcome)
	f.Log(row)
	rows = append(rows, row)
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if *results != "" {
		slices.Sort(rows)
		if err := os.WriteFile(filepath.Join(*results, "kafka.md"), fmt.Appendf(nil, page, strings.Join(rows, "\n")), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
