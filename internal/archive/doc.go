// Package archive is the layout of the archive: raw logs and spans as Parquet, by hour of event time, in a folder or a bucket.
// FORMAT.md describes it byte by byte.
package archive
