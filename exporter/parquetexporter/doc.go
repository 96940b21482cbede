//go:generate mdatagen metadata.yaml

// Package parquetexporter archives log records and spans as Parquet files, by hour of event time, in a folder or a bucket.
package parquetexporter // import "github.com/otel-topk/collector/exporter/parquetexporter"
