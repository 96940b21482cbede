package sql_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otel-topk/collector/testbed/examples"
)

// block of SQL on the page, under a heading.
type block struct{ heading, sql string }

// engine that the block is for; "": all.
func (b block) engine() string {
	words := strings.Fields(b.heading)
	if last := words[len(words)-1]; engines[last] != "" {
		return last
	}
	return ""
}

// page is the SQL of docs/sql.md, with texts replaced: each by the one after it.
func page(t *testing.T, texts ...string) []block {
	t.Helper()
	text, err := os.ReadFile(examples.Path(t, "docs/sql.md"))
	require.NoError(t, err)
	var blocks []block
	heading, open := "", false
	var sql strings.Builder
	replacer := strings.NewReplacer(texts...)
	for line := range strings.Lines(string(text)) {
		switch {
		case open && line == "```\n":
			blocks = append(blocks, block{heading, replacer.Replace(sql.String())})
			open = false
			sql.Reset()
		case open:
			sql.WriteString(line)
		case line == "```sql\n":
			open = true
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	require.NotEmpty(t, blocks)
	return blocks
}
