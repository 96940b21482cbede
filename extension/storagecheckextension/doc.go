//go:generate mdatagen metadata.yaml

// Package storagecheckextension looks at the files of a file_storage extension before they are opened, and sets aside those that
// are damaged: opened, they would end the process at every start.
package storagecheckextension
