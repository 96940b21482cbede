// Package depot keeps values in a storage extension of the collector: sealed, so that a damaged one is noticed and set aside,
// and written in groups, so that many writers share a transaction. FORMAT.md beside it specifies the bytes.
package depot
