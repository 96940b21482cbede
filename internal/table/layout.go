package table

import (
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

const (
	formatVersion = 1

	// Keys of the footer.
	metaKey = "otel-topk.table"
	sumsKey = "otel-topk.sums"

	pageBytes     = 64 << 10
	readBytes     = 128 << 10 // at once, of a column
	rowGroupRows  = 128 << 10
	rowGroupBytes = 16 << 20 // of keys and groups
	mostKeyBytes  = 64 << 10 // in the page index
)

// columns of a row; their order is that of the sort.
type columns struct {
	Scope   string `parquet:"scope,dict"`
	Group   string `parquet:"group,dict"`
	Key     string `parquet:"key"`
	Weight  int64  `parquet:"weight"`
	Records int64  `parquet:"records"`
}

// Places of the columns in a file.
const (
	keyColumn = iota + 2
	weightColumn
	recordsColumn
	columnCount
)

var schema = parquet.NewSchema("table", parquet.SchemaOf(columns{}))

func writerOptions() []parquet.WriterOption {
	return []parquet.WriterOption{
		schema,
		parquet.CreatedBy("otel-topk", "", ""),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.PageBufferSize(pageBytes),
		parquet.WriteBufferSize(0), // the seal has to know where the rows end
		parquet.ColumnIndexSizeLimit(func(path []string) int {
			if slices.Equal(path, []string{"key"}) {
				return mostKeyBytes
			}
			return parquet.DefaultColumnIndexSizeLimit
		}),
		parquet.SortingWriterConfig(parquet.SortingColumns(parquet.Ascending("scope"), parquet.Ascending("group"), parquet.Ascending("key"))),
	}
}
