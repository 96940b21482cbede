package exact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/otel-topk/collector/internal/archive"
)

// kind of a table. Each has a folder of its own, so that whoever reads all of one counts nothing twice.
type kind uint8

const (
	hours kind = iota
	days
	all
)

// oneDay is the hours of a day of UTC.
const oneDay = 24

// tableRoot holds whole tables, listRoot the first of each of their lists.
const (
	tableRoot = "tables/"
	listRoot  = "lists/"
)

var (
	kindNames   = [...]string{hours: "hours", days: "days", all: "all"}
	kindLayouts = [...]string{hours: "year=2006/month=01/day=02/hour=15/", days: "year=2006/month=01/day=02/", all: ""}
	kindLengths = [...]archive.Hour{hours: 1, days: oneDay, all: 0}
)

const fileName = "table.parquet"

// place names a table: of a rule's definition, and of an hour or a day that begins at from.
type place struct {
	kind        kind
	rule        string
	fingerprint string
	from        archive.Hour
}

// folder of the tables of a rule, of all its definitions.
func folder(k kind, rule string) string { return kindNames[k] + "/rule=" + escape(rule) + "/" }

func (p place) path() string {
	return folder(p.kind, p.rule) + "fingerprint=" + p.fingerprint + "/" + p.from.Start().Format(kindLayouts[p.kind]) + fileName
}

func (p place) table() string { return tableRoot + p.path() }
func (p place) list() string  { return listRoot + p.path() }

// parsePlace is the inverse of table and list.
func parsePlace(k kind, rule, path string) (place, bool) {
	_, rest, _ := strings.Cut(path, "/")
	rest, ours := strings.CutPrefix(rest, folder(k, rule)+"fingerprint=")
	fingerprint, when, _ := strings.Cut(rest, "/")
	when, named := strings.CutSuffix(when, fileName)
	p := place{kind: k, rule: rule, fingerprint: fingerprint}
	if !ours || !named {
		return p, false
	}
	if k != all {
		start, err := time.Parse(kindLayouts[k], when)
		if err != nil {
			return p, false
		}
		p.from = archive.HourOf(start.UnixNano())
	}
	return p, path == tableRoot+p.path() || path == listRoot+p.path()
}

const (
	longestEscaped = 200 // bytes of a file name
	cutEscaped     = 150
)

// escape is text as the value of a folder: what is neither letter, digit, hyphen nor underscore is written %XX. A long one ends
// with a hash.
func escape(text string) string {
	var b strings.Builder
	cut := 0
	for i := range len(text) {
		if c := text[i]; c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
		if b.Len() <= cutEscaped {
			cut = b.Len()
		}
	}
	if b.Len() <= longestEscaped {
		return b.String()
	}
	sum := sha256.Sum256([]byte(text))
	return b.String()[:cut] + "~" + hex.EncodeToString(sum[:16])
}
