package archive

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// leafReader walks one leaf column of a row group, value by value. A value may be missing. Texts stay valid for good. After an error
// all values are missing, texts "" and numbers 0.
type leafReader struct {
	number int
	level  level
	path   string
	pages  *parquet.FilePages
	page   parquet.Page
	err    error

	repetition, definition []byte // of the page; empty where the level is 0
	at, end                int    // places in the page
	value                  int    // how many values before at are not missing

	known      parquet.Dictionary // what texts or longs are of
	ofPage     bool               // they are of the page, and index is not set
	index      []int32
	texts      []string
	longs      []int64
	wide       []int64 // memory for longs of int32 columns
	dictionary struct {
		texts []string
		longs []int64
	}
}

// begin walks a column chunk.
func (l *leafReader) begin(pages *parquet.FilePages) {
	l.close()
	l.pages, l.known, l.err = pages, nil, nil
	l.at, l.end = 0, 0
}

// close lets go of the chunk.
func (l *leafReader) close() {
	if l.page != nil {
		parquet.Release(l.page)
		l.page = nil
	}
	if l.pages != nil {
		_ = l.pages.Close()
		l.pages = nil
	}
}

// load makes the next page the current one, and says whether there is one.
func (l *leafReader) load() bool {
	for l.at >= l.end {
		if l.err != nil || l.pages == nil {
			return false
		}
		if l.page != nil {
			parquet.Release(l.page)
			l.page = nil
		}
		page, err := l.pages.ReadPage()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it has fewer values than its row group has records")
			}
			l.err = fmt.Errorf("column %s: %w", l.path, err)
			return false
		}
		l.page = page
		l.take(page)
	}
	return true
}

// take looks into a page.
func (l *leafReader) take(page parquet.Page) {
	l.at, l.value, l.end = 0, 0, int(page.NumValues())
	l.repetition, l.definition = page.RepetitionLevels(), page.DefinitionLevels()
	l.index, l.ofPage = nil, true
	l.texts, l.longs = nil, nil
	if int(page.NumNulls()) == l.end {
		return
	}
	data := page.Data()
	d := page.Dictionary()
	if d == nil {
		l.texts, l.longs = texts(nil, page.Type().Kind(), page), l.longsOf(page)
		return
	}
	if d != l.known {
		l.known = d
		all := d.Page()
		l.dictionary.texts = texts(l.dictionary.texts[:0], d.Type().Kind(), all)
		l.dictionary.longs = append(l.dictionary.longs[:0], l.longsOf(all)...)
	}
	l.ofPage, l.index = false, data.Int32()
	l.texts, l.longs = l.dictionary.texts, l.dictionary.longs
}

// texts appends those of a page without nulls, or none where it holds numbers.
func texts(dst []string, kind parquet.Kind, page parquet.Page) []string {
	if kind != parquet.ByteArray {
		return dst
	}
	values := page.Data()
	data, offsets := values.ByteArray()
	if len(offsets) == 0 {
		return dst
	}
	all, first := string(data[offsets[0]:offsets[len(offsets)-1]]), offsets[0]
	for i := range len(offsets) - 1 {
		dst = append(dst, all[offsets[i]-first:offsets[i+1]-first])
	}
	return dst
}

// longsOf are the numbers of a page, or none where it holds texts. They belong to it or to l.wide.
func (l *leafReader) longsOf(page parquet.Page) []int64 {
	values := page.Data()
	switch page.Type().Kind() {
	case parquet.Int64:
		return values.Int64()
	case parquet.Int32:
		l.wide = l.wide[:0]
		for _, n := range values.Int32() {
			l.wide = append(l.wide, int64(n))
		}
		return l.wide
	default:
		return nil
	}
}

// next goes to the next place, and returns its definition level: the value is there where that is the largest.
func (l *leafReader) next() byte {
	if l.at >= l.end && !l.load() {
		return 0
	}
	at := l.at
	l.at++
	if len(l.definition) == 0 {
		l.value++
		return l.level.definition
	}
	d := l.definition[at]
	if d == l.level.definition {
		l.value++
	}
	return d
}

// some goes to the next place, and says whether its value is there.
func (l *leafReader) some() bool { return l.next() == l.level.definition && l.err == nil }

// ahead is the repetition level of the next place; 0: it is of another record.
func (l *leafReader) ahead() byte {
	if l.at >= l.end || len(l.repetition) == 0 {
		return 0
	}
	return l.repetition[l.at]
}

// text of the place that next went to, where it is there.
func (l *leafReader) text() string {
	if l.err != nil {
		return ""
	}
	if l.ofPage {
		return l.texts[l.value-1]
	}
	return l.texts[l.index[l.value-1]]
}

// long is text of numbers.
func (l *leafReader) long() int64 {
	if l.err != nil {
		return 0
	}
	if l.ofPage {
		return l.longs[l.value-1]
	}
	return l.longs[l.index[l.value-1]]
}

// nextText and nextLong are those of the next place of a column that is never missing.
func (l *leafReader) nextText() string { l.next(); return l.text() }
func (l *leafReader) nextLong() int64  { l.next(); return l.long() }

// someText is the text of the next place; "" where it is missing.
func (l *leafReader) someText() string {
	if !l.some() {
		return ""
	}
	return l.text()
}
