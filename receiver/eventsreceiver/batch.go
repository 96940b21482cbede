package eventsreceiver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/receiver/eventsreceiver/internal/metadata"
)

// batch is what becomes of one request.
type batch struct {
	cfg     *Config
	share   *share
	now     pcommon.Timestamp
	logs    plog.Logs
	records plog.LogRecordSlice
	n       int // events read

	rejected      []rejection // the first ones
	rejectedTotal int
	reasons       map[string]int64
}

func newBatch(cfg *Config, held *share, now time.Time) *batch {
	b := &batch{cfg: cfg, share: held, now: pcommon.NewTimestampFromTime(now), logs: plog.NewLogs(), rejected: []rejection{}, reasons: map[string]int64{}}
	scope := b.logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	scope.Scope().SetName(metadata.ScopeName)
	b.records = scope.LogRecords()
	return b
}

func (b *batch) accepted() int { return b.records.Len() }

// read all events of a body. An error is a refusal: nothing of the request is taken.
func (b *batch) read(from io.Reader, lines bool) error {
	in := bufio.NewReader(&body{from: from, share: b.share})
	if lines {
		return b.readLines(in)
	}
	for {
		first, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return noEvents("the body is empty; an array of events is needed, or one event")
		case err != nil:
			return err
		case first == ' ' || first == '\t' || first == '\n' || first == '\r':
			continue
		}
		if err := in.UnreadByte(); err != nil {
			return err
		}
		d := json.NewDecoder(in)
		if first != '[' {
			if err := b.readNext(d); err != nil {
				return err
			}
		} else if err := b.readArray(d); err != nil {
			return err
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			if why := new(refusal); errors.As(err, &why) {
				return why
			}
			return noEvents("after byte %d: something follows the end of the events", d.InputOffset())
		}
		return nil
	}
}

func (b *batch) readArray(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return malformed(d, err)
	}
	for d.More() {
		if err := b.readNext(d); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return malformed(d, err)
}

// readNext event of an array.
func (b *batch) readNext(d *json.Decoder) error {
	var event json.RawMessage
	if err := d.Decode(&event); err != nil {
		return malformed(d, err)
	}
	return b.add(event)
}

// readLines of events. A line that is no JSON is one rejected event; empty ones are none.
func (b *batch) readLines(in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line := bytes.TrimSpace(line); len(line) > 0 {
			if err := b.add(line); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// malformed says where the JSON of a request is broken; nil: it is not.
func malformed(d *json.Decoder, err error) error {
	var why *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &why):
		return why
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return noEvents("after byte %d: the body ends within the events", d.InputOffset())
	}
	return noEvents("after byte %d: no JSON: %v", d.InputOffset(), err)
}

// add one event, as a record or as rejected.
func (b *batch) add(event []byte) error {
	index := b.n
	if b.n++; b.n > b.cfg.MaxEvents {
		return refusef(http.StatusRequestEntityTooLarge, reasonTooMany, "too many events: max_events allows %d in one request", b.cfg.MaxEvents)
	}
	record := plog.NewLogRecord()
	values, err := b.fill(record, event)
	if err == nil {
		if full := b.share.take(eventBytes + int64(values)*valueBytes); full != nil {
			return full
		}
		record.SetObservedTimestamp(b.now)
		record.MoveTo(b.records.AppendEmpty())
		return nil
	}
	b.rejectedTotal++
	b.reasons[err.reason]++
	if len(b.rejected) < namedRejections {
		b.rejected = append(b.rejected, rejection{index, err.text})
	}
	return nil
}
