package dataset

import (
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// table is a source of rows with named columns of text.
type table struct {
	columns []column
	times   []int64 // empty: the rows have no time
	texts   map[string]string
}

type column struct {
	name   string
	values []string
	empty  bool // "" is sent as an empty attribute, not as none
}

func newTable(columns ...string) *table {
	t := &table{texts: make(map[string]string)}
	for _, name := range columns {
		t.columns = append(t.columns, column{name: name})
	}
	return t
}

// add a row; each text is kept once.
func (t *table) add(values ...string) {
	for c := range t.columns {
		text, ok := t.texts[values[c]]
		if !ok {
			text = strings.Clone(values[c])
			t.texts[text] = text
		}
		t.columns[c].values = append(t.columns[c].values, text)
	}
}

func (t *table) addAt(at time.Time, values ...string) {
	t.times = append(t.times, at.UnixNano())
	t.add(values...)
}

// values of a composite key of the named columns.
func (t *table) values(columns ...string) []string {
	var parts [][]string
	for _, name := range columns {
		for _, c := range t.columns {
			if c.name == name {
				parts = append(parts, c.values)
			}
		}
	}
	joined, row := make([]string, len(parts[0])), make([]string, len(parts))
	for i := range joined {
		for p := range parts {
			row[p] = parts[p][i]
		}
		joined[i] = strings.Join(row, "|")
	}
	return joined
}

// logs makes a log record of each row, with an attribute for each column.
func (t *table) logs(name string) *Stream {
	s := &Stream{Name: name, Signal: "logs", Times: t.times}
	for _, c := range t.columns {
		s.addKey(c.name, c.values, logAttribute(c.name))
	}
	if len(t.times) == 0 {
		for i := range t.columns[0].values {
			s.Times = append(s.Times, epoch.Add(time.Duration(i)*time.Millisecond).UnixNano())
		}
	}
	times := s.Times
	s.origin = func(int) int { return 0 }
	s.put = func(_ int, res pcommon.Resource, _ pcommon.InstrumentationScope) {
		res.Attributes().PutStr("service.name", "replay")
	}
	s.putLog = func(i int, to plog.LogRecord) {
		to.SetTimestamp(pcommon.Timestamp(times[i]))
		for _, c := range t.columns {
			if c.empty || c.values[i] != "" {
				to.Attributes().PutStr(c.name, c.values[i])
			}
		}
	}
	return s
}

func (s *Stream) addKey(name string, values []string, paths ...string) {
	s.Keys = append(s.Keys, Key{Name: name, Paths: paths})
	s.Values = append(s.Values, values)
}

func logAttribute(name string) string  { return `log.attributes["` + name + `"]` }
func spanAttribute(name string) string { return `span.attributes["` + name + `"]` }
func resourceAttribute(name string) string {
	return `resource.attributes["` + name + `"]`
}
