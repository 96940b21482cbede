package eventsreceiver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// BenchmarkEvents reads a request of a thousand events, and, for comparison, decodes the same bytes into maps.
func BenchmarkEvents(b *testing.B) {
	var body bytes.Buffer
	body.WriteByte('[')
	for i := range 1000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"key":"endpoint-%d","region":"eu-west-1","event_time":"2026-01-02T15:04:05.%03dZ","user_hash":"%016x","count":%d}`, i%37, i, i*7919, i%5)
	}
	body.WriteByte(']')
	cfg := createDefaultConfig().(*Config)
	run := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
		})
	}
	run("receiver", func() error {
		return newBatch(cfg, freshShare(cfg), time.Unix(1, 0)).read(bytes.NewReader(body.Bytes()), false)
	})
	run("encoding-json", func() error {
		var events []map[string]any
		return json.Unmarshal(body.Bytes(), &events)
	})
}
