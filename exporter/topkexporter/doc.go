//go:generate mdatagen metadata.yaml

// Package topkexporter serves published lists over HTTP: a JSON API, a web page and a page for Prometheus.
package topkexporter
