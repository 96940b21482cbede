package parquetexporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/exporter/parquetexporter/internal/segment"
	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/rule"
)

// Files of small hours are written at once, as far as the texts of their records are together no more than one file's writer holds
// of a large hour, and no more than passFiles of them.
const (
	passBytes = 64 << 20
	passFiles = 64
)

// conversion of one segment into one file for each hour.
type conversion struct {
	*converter
	segment *segment.Segment
	shard   string
	hours   []share
	records int64          // of all frames that are whole
	broken  map[int64]bool // by offset: frames that are whole and yet hold no request
}

// share of an hour in a segment.
type share struct {
	hour    archive.Hour
	records int64
	bytes   int64 // about as many are under zstd
}

func newConversion(c *converter, s *segment.Segment) *conversion {
	return &conversion{converter: c, segment: s, broken: map[int64]bool{}}
}

// run says how many records are archived.
func (c *conversion) run(ctx context.Context) (int64, error) {
	if err := c.survey(ctx); err != nil {
		return 0, fmt.Errorf("segment %s: %w", c.segment.Name(), err)
	}
	present := make([]int64, len(c.archiver.columns.all))
	archived := int64(0)
	for hours := range passes(c.hours) {
		rows, err := c.pass(ctx, hours, present)
		if err != nil {
			return 0, fmt.Errorf("segment %s: %w", c.segment.Name(), err)
		}
		archived += rows
	}
	if archived != c.records {
		return 0, fmt.Errorf("segment %s: %d records became %d: it is kept", c.segment.Name(), c.records, archived)
	}
	if archived > 0 {
		c.archiver.columns.archived(c.segment.Signal, present, time.Now())
	}
	return archived, nil
}

// survey says which hours there are, and sets aside what is damaged.
func (c *conversion) survey(ctx context.Context) error {
	shares := map[archive.Hour]share{}
	err := c.read(ctx, func(r *segment.Reader, item segment.Item) error {
		c.shard = r.Shard()
		switch {
		case item.Kind == segment.Whole:
			records := 0
			for _, h := range item.Hours {
				records += h.Count
			}
			for _, h := range item.Hours {
				s := shares[h.Hour]
				s.records += int64(h.Count)
				s.bytes += item.Length * int64(h.Count) / int64(max(records, 1))
				shares[h.Hour] = s
			}
			c.records += int64(records)
		case item.Kind == segment.Damaged:
			c.setAside(ctx, r, item)
		case c.first(c.segment, item):
			c.archiver.telemetry.logger.Info("A segment ends in a request that was not answered, and is cut there",
				zap.String("segment", c.segment.Name()), zap.Int64("offset", item.Offset), zap.Int64("bytes", item.Length))
		}
		return nil
	})
	for hour, s := range shares {
		s.hour = hour
		c.hours = append(c.hours, s)
	}
	slices.SortFunc(c.hours, func(a, b share) int { return cmp.Compare(a.hour, b.hour) })
	return err
}

// passes over the segment: the hours whose files are written at once.
func passes(hours []share) iter.Seq[[]share] {
	return func(yield func([]share) bool) {
		for len(hours) > 0 {
			n, size := 0, int64(0)
			for n < min(len(hours), passFiles) {
				size += unpacked * hours[n].bytes
				if n > 0 && size > passBytes {
					break
				}
				n++
			}
			if !yield(hours[:n]) {
				return
			}
			hours = hours[n:]
		}
	}
}

// unpacked is how much larger than under zstd records are in memory, about.
const unpacked = 16

// read the items of the segment.
func (c *conversion) read(ctx context.Context, each func(*segment.Reader, segment.Item) error) error {
	r, err := segment.NewReader(c.segment, c.archiver.codec, c.archiver.shard)
	if err != nil {
		return err
	}
	for err == nil {
		var item segment.Item
		if item, err = r.Next(); err == nil {
			err = errors.Join(each(r, item), context.Cause(ctx))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, r.Close())
}

// setAside what is damaged, under a name that says where it was, and count it.
func (c *conversion) setAside(ctx context.Context, r *segment.Reader, item segment.Item) {
	if !c.first(c.segment, item) {
		return
	}
	c.archiver.telemetry.damaged(ctx, c.segment.Name(), item.Offset, item.Length)
	if err := c.archiver.folder.SetAside(c.segment, item, r.Bytes(item)); err != nil {
		c.archiver.telemetry.logger.Warn("What is damaged cannot be set aside, and goes with its segment", zap.Error(err))
	}
}

// pass writes the files of hours. It says how many records are in them, or lost in frames that hold no request.
func (c *conversion) pass(ctx context.Context, hours []share, present []int64) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	files := make(map[archive.Hour]*file, len(hours))
	var writing sync.WaitGroup
	for _, s := range hours {
		f := &file{conversion: c, hour: s.hour, feed: make(chan *parcel, 1)}
		files[s.hour] = f
		writing.Go(func() {
			if err := f.write(ctx); err != nil {
				cancel(err)
			}
		})
	}
	if err := c.feed(ctx, files); err != nil {
		cancel(err)
	} else {
		for _, f := range files {
			close(f.feed)
		}
	}
	writing.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	rows := int64(0)
	for _, f := range files {
		rows += f.rows
		for i, n := range f.present {
			present[i] += n
		}
	}
	return rows, nil
}

// feed the files with the requests that have records of their hours.
func (c *conversion) feed(ctx context.Context, files map[archive.Hour]*file) error {
	return c.read(ctx, func(r *segment.Reader, item segment.Item) error {
		if item.Kind != segment.Whole || c.broken[item.Offset] {
			return nil
		}
		var p *parcel
		for _, h := range item.Hours {
			f, ok := files[h.Hour]
			if !ok {
				continue
			}
			if p == nil {
				var err error
				if p, err = c.unpack(r, item); err != nil {
					c.lose(ctx, r, item)
					return nil
				}
			}
			select {
			case f.feed <- p:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
}

// lose the records of a frame that is as it was written, and yet holds no request.
func (c *conversion) lose(ctx context.Context, r *segment.Reader, item segment.Item) {
	c.broken[item.Offset] = true
	for _, h := range item.Hours {
		c.records -= int64(h.Count)
	}
	c.setAside(ctx, r, item)
}

// parcel is a request on its way to files.
type parcel struct {
	arrival int64
	logs    plog.Logs
	traces  ptrace.Traces
}

func (c *conversion) unpack(r *segment.Reader, item segment.Item) (*parcel, error) {
	body, err := r.Body(item)
	if err != nil {
		return nil, err
	}
	p := &parcel{arrival: item.Arrival}
	if c.segment.Signal == rule.SignalLogs {
		p.logs, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
	} else {
		p.traces, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	}
	return p, err
}
