// Package trendreceiver is the gateway: it takes the states of topk processors over OTLP, merges shards, minutes and
// groups, and publishes the lists to a logs and a metrics pipeline.
package trendreceiver

//go:generate mdatagen metadata.yaml
