package archive

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Keys of the footer, beside those of package seal.
const (
	versionKey = "otel-topk.version"
	metaKey    = "otel-topk.meta"

	// Version of the layout.
	Version = 1
)

// footerMeta is Meta as JSON, for people and other tools too.
type footerMeta struct {
	Signal  string         `json:"signal"`
	Hour    int64          `json:"hour"` // since the Unix epoch
	Shard   string         `json:"shard"`
	Segment string         `json:"segment"`
	Columns []footerColumn `json:"columns"`
	First   int64          `json:"first,omitempty"`
	Last    int64          `json:"last,omitempty"`
	Rows    int64          `json:"rows"`
}

type footerColumn struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// text of the footer.
func (m *Meta) text(rows int64) (string, error) {
	f := footerMeta{
		Signal: m.Signal, Hour: int64(m.Hour), Shard: m.Shard, Segment: m.Segment, Columns: []footerColumn{},
		First: m.First, Last: m.Last, Rows: rows,
	}
	for _, c := range m.Columns {
		f.Columns = append(f.Columns, footerColumn(c))
	}
	text, err := json.Marshal(f)
	return string(text), err
}

// parseMeta is the inverse of text.
func parseMeta(version, text string) (m Meta, rows int64, err error) {
	if version != strconv.Itoa(Version) {
		return m, 0, fmt.Errorf("%s is %q, known is %d", versionKey, version, Version)
	}
	var f footerMeta
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return m, 0, fmt.Errorf("%s: %w", metaKey, err)
	}
	m = Meta{Signal: f.Signal, Hour: Hour(f.Hour), Shard: f.Shard, Segment: f.Segment, First: f.First, Last: f.Last}
	for _, c := range f.Columns {
		m.Columns = append(m.Columns, Column(c))
	}
	return m, f.Rows, nil
}
