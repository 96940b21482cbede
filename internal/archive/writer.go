package archive

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/seal"
)

// Meta is what a file says of itself, in its footer.
type Meta struct {
	Signal  string
	Hour    Hour
	Shard   string
	Segment string
	Columns []Column // a file holds those that its signal can fill

	// Of spans, the first and the last of their starts and of the times of their events, Unix nanoseconds: what rules count by that do
	// not count by the end. Written by Close.
	First, Last int64
}

const (
	// rowGroupRows and rowGroupBytes end a row group: records, and bytes of their texts before compression.
	rowGroupRows  = 256 << 10
	rowGroupBytes = 64 << 20

	// chunkRows are handed to the Parquet library at once, or chunkBytes of texts.
	chunkRows  = 512
	chunkBytes = 1 << 20

	// pageBytes end a page of values, or of numbers in a dictionary; pageTextBytes the texts that it stands for.
	pageBytes       = 256 << 10
	pageTextBytes   = 2 << 20
	dictionaryBytes = 1 << 20
)

// Writer writes one file. The same records in the same order give the same bytes. It needs memory for one row group: at most
// rowGroupBytes of text in dictionaries, and what the pages are compressed. Not safe for concurrent use; after an error it is spent.
type Writer struct {
	meta    Meta
	out     *seal.Writer
	file    *parquet.GenericWriter[any]
	columns []*parquet.ColumnWriter
	sink    attributeSink
	leaves  leaves
	present []int64
	last    lastPlace

	rows, groupRows, chunkRows int64
	handed                     int // bytes of texts, in the row group
}

// NewWriter writes a file to w; Close ends it, and does not close w. Columns of another signal are left out.
func NewWriter(w io.Writer, meta Meta) (*Writer, error) {
	if meta.Signal != rule.SignalLogs && meta.Signal != rule.SignalTraces {
		return nil, fmt.Errorf("archive: signal %q is neither %s nor %s", meta.Signal, rule.SignalLogs, rule.SignalTraces)
	}
	all := meta.Columns
	meta.Columns = columnsOf(meta.Signal, meta.Columns)
	l := layoutOf(meta.Signal, meta.Columns)
	out := seal.NewWriter(w)
	file := parquet.NewGenericWriter[any](out, l.schema,
		parquet.Compression(codec),
		parquet.DataPageVersion(1),
		parquet.DataPageStatistics(true),
		parquet.PageBufferSize(pageBytes),
		parquet.WriteBufferSize(0),
		parquet.DictionaryMaxBytes(dictionaryBytes),
		parquet.CreatedBy("otel-topk", "1", "0"),
	)
	wr := &Writer{
		meta:    meta,
		out:     out,
		file:    file,
		columns: file.ColumnWriters(),
		sink:    attributeSink{sink: newSink(l)},
		leaves:  newLeaves(l, all),
		present: make([]int64, len(all)),
	}
	wr.last.leaves = wr.leaves.placeLeaves()
	wr.last.values = make([][]parquet.Value, len(wr.last.leaves))
	return wr, nil
}

// Present is, for each of the Columns that NewWriter was given, in how many records so far the attribute was there.
func (w *Writer) Present() []int64 { return slices.Clone(w.present) }

// Log appends a log record. now (Unix nanoseconds) is when it arrived: the event time of records that carry none.
func (w *Writer) Log(rl plog.ResourceLogs, sl plog.ScopeLogs, record plog.LogRecord, now int64) error {
	exact := w.log(record, now)
	exact = w.place(rl.Resource(), rl.SchemaUrl(), sl.Scope(), sl.SchemaUrl()) && exact
	w.sink.long(w.leaves.size, int64(logSizer.LogRecordSize(record)), at{})
	if exact {
		w.sink.none(w.leaves.otlp, at{})
		return w.row()
	}
	whole, err := wholeLog(rl, sl, record)
	if err != nil {
		return err
	}
	_, err = logReader.UnmarshalLogs(whole)
	return w.inexact(whole, err)
}

// Span appends a span.
func (w *Writer) Span(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, now int64) error {
	exact := w.span(span, now)
	exact = w.place(rs.Resource(), rs.SchemaUrl(), ss.Scope(), ss.SchemaUrl()) && exact
	w.sink.long(w.leaves.size, int64(spanSizer.SpanSize(span)), at{})
	if exact {
		w.sink.none(w.leaves.otlp, at{})
		return w.row()
	}
	whole, err := wholeSpan(rs, ss, span)
	if err != nil {
		return err
	}
	_, err = spanReader.UnmarshalTraces(whole)
	return w.inexact(whole, err)
}

// inexact ends a record that its columns do not hold exactly. One that no pdata could read again is left to them: it did not come as
// OTLP, and is nested deeper than that may be.
func (w *Writer) inexact(whole []byte, unreadable error) error {
	if unreadable != nil {
		w.sink.none(w.leaves.otlp, at{})
	} else {
		w.sink.some(w.leaves.otlp, whole, at{})
	}
	return w.row()
}

// row ends a record.
func (w *Writer) row() error {
	w.rows++
	w.groupRows++
	w.chunkRows++
	if w.chunkRows < chunkRows && w.sink.bytes < chunkBytes {
		return nil
	}
	if err := w.hand(); err != nil {
		return err
	}
	if w.groupRows < rowGroupRows && w.handed < rowGroupBytes {
		return nil
	}
	w.groupRows, w.handed = 0, 0
	return w.file.Flush()
}

// hand gives the records to the Parquet library.
func (w *Writer) hand() error {
	w.handed += w.sink.bytes
	w.chunkRows, w.sink.bytes = 0, 0
	err := w.sink.writeTo(w.columns)
	w.sink.reset()
	w.last.known = false // its values lie in what was reset
	return err
}

// Rows that were appended.
func (w *Writer) Rows() int64 { return w.rows }

// Close writes the footer.
func (w *Writer) Close() error {
	if err := w.hand(); err != nil {
		return err
	}
	if err := w.file.Flush(); err != nil {
		return err
	}
	meta, err := w.meta.text(w.rows)
	if err != nil {
		return err
	}
	w.file.SetKeyValueMetadata(versionKey, strconv.Itoa(Version))
	w.file.SetKeyValueMetadata(metaKey, meta)
	for _, pair := range w.out.BeginTail() {
		w.file.SetKeyValueMetadata(pair[0], pair[1])
	}
	if err := w.file.Close(); err != nil {
		return err
	}
	return w.out.Finish()
}
