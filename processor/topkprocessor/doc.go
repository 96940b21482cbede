//go:generate mdatagen metadata.yaml

// Package topkprocessor counts the heaviest keys of the records that pass and sends what it counted to gateways.
package topkprocessor // import "github.com/otel-topk/collector/processor/topkprocessor"
