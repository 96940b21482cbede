// Package eventsreceiver takes events as JSON over HTTP and makes log records of them.
package eventsreceiver

//go:generate mdatagen metadata.yaml
