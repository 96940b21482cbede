// Package sql_test runs the SQL of docs/sql.md in three engines, against exact counts.
package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const perDay = 3000

// within are the records of a range.
func within(records []record, from, to time.Time) (found []record) {
	for _, r := range records {
		if !r.at.Before(from) && r.at.Before(to) {
			found = append(found, r)
		}
	}
	return found
}

// inRegion are the records of a region.
func inRegion(records []record, region value) (found []record) {
	for _, r := range records {
		if r.region.known() == region.known() && r.region.text == region.text {
			found = append(found, r)
		}
	}
	return found
}

// sortedRegions is regions as SQL sorts them.
var sortedRegions = []value{{}, text(""), {7, "7"}, text("eu-west-1"), text(`o'"region"`), text("us-east-1")}

// answers to the page's questions, by their heading.
func answers(logs []record, spans []span) map[string][][]string {
	daily := within(logs, day, day.AddDate(0, 0, 1))
	all := map[string][][]string{}
	for _, r := range rules {
		sums := tally(daily, r.of)
		switch r.heading {
		case "The whole table":
			all[r.heading] = whole(sums)
		case "A number as weight", "A number of the map as weight":
			all[r.heading] = whole(top(sums, 10))
		default:
			all[r.heading] = weights(top(sums, 10))
		}
	}
	tenants := func(r *record) ([]string, int64) { return one(r.tenant), 1 }
	bytes := func(r *record) ([]string, int64) { return one(r.tenant), int64(r.bytes) }
	const acme = "acme"
	for _, region := range sortedRegions {
		name, list := region.text, "A list for each group"
		if !region.known() {
			name = null
		}
		for i, c := range top(tally(inRegion(daily, region), tenants), 3) {
			all[list] = append(all[list], []string{name, number(int64(i + 1)), c.key[0], number(c.weight)})
		}
	}
	for _, hour := range hours {
		from := day.Add(time.Duration(hour) * time.Hour)
		for _, c := range tally(within(logs, from, from.Add(time.Hour)), bytes) {
			if c.key[0] == acme {
				all["One key, by hour"] = append(all["One key, by hour"], []string{number(int64(hour)), number(c.records), number(c.weight)})
			}
		}
	}
	all["Any range"] = weights(top(tally(within(logs, day.Add(8*time.Hour+30*time.Minute), day.Add(13*time.Hour+15*time.Minute)), tenants), 10))
	all["A column that came later"] = weights(top(tally(logs, tenants), 10))
	all["Spans"] = weights(top(tally(spans, func(s *span) ([]string, int64) {
		if s.at.Before(day) || !s.failed {
			return nil, 0
		}
		return []string{s.name}, 1
	}), 10))

	all["The list of a day, from hours"] = whole(top(tally(daily, bytes), 10))
	for _, region := range sortedRegions {
		for _, c := range tally(inRegion(daily, region), bytes) {
			if c.key[0] == acme {
				scope := "group"
				if !region.known() {
					scope = "missing"
				}
				all["One key in each group"] = append(all["One key in each group"], []string{scope, region.text, number(c.weight), number(c.records)})
			}
		}
	}
	return all
}

// literals are formats of a text in hexadecimal.
var literals = map[string]string{"DuckDB": "decode(unhex('%X'))", "ClickHouse": "unhex('%X')", "Spark": "decode(unhex('%X'), 'UTF-8')"}

// hard are keys to find by conditions, which engines hold against the least and largest texts of a file first.
var hard = []string{"", "200", "a\x00b", "bad\ufffdkey", `it's "quoted" \ and back`, long[:256], long + "1", "日本 テナント"}

// eachHard is a query that asks for each of them by itself, and its answer.
func eachHard(sums []counted, literal string) (rows [][]string, sql string) {
	var parts []string
	for i, key := range hard {
		parts = append(parts, fmt.Sprintf("SELECT %d AS place, count(*) AS records FROM logs WHERE day = 2 AND tenant_id = "+literal, i, key))
		at := slices.IndexFunc(sums, func(c counted) bool { return c.key[0] == key })
		rows = append(rows, []string{number(int64(i)), number(sums[at].records)})
	}
	return rows, "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS asked ORDER BY place"
}

func TestTheSQLOfThePageCountsToTheLastRecord(t *testing.T) {
	folder := t.TempDir()
	logs := writeLogs(t, folder, 2*perDay)
	want := answers(logs, writeSpans(t, folder, perDay))
	fingerprint := writeTables(t, folder)
	blocks := page(t, "/srv/archive", folder, "0123456789abcdef0123456789abcdef", fingerprint)
	asked := map[string]bool{}
	for _, b := range blocks {
		if b.engine() == "" {
			require.False(t, asked[b.heading], "two blocks under %q", b.heading)
			asked[b.heading] = true
			require.NotEmpty(t, want[b.heading], "%q has no answer here", b.heading)
		}
	}
	require.Len(t, asked, len(want), "questions that are not on the page")

	for name, file := range engines {
		t.Run(file, func(t *testing.T) {
			e := start(t, file)
			for _, b := range blocks {
				switch {
				case b.engine() == name && b.heading != inBucket:
					e.run(t, b.sql)
				case b.engine() == "":
					assert.Equal(t, want[b.heading], e.run(t, b.sql), b.heading)
				}
			}
			wantEach, each := eachHard(tally(within(logs, day, day.AddDate(0, 0, 1)), rules[0].of), literals[name])
			assert.Equal(t, wantEach, e.run(t, each), "hard keys")
		})
	}
}
