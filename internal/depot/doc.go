// Package depot keeps values in a storage extension of the collector: sealed, so that a damaged one is noticed and set aside,
// and written in groups, so that many writers share a transaction. FORMAT.md beside it specifies the bytes.
//
// A Depot relies on a Batch being a transaction, as that of file_storage is: one that fails has written nothing.
package depot
