package topkexporter

import (
	"net/url"
	"strconv"
	"time"

	"github.com/otel-topk/collector/internal/window"
	"github.com/otel-topk/collector/internal/wire"
)

// span is a range of whole hours: from the first on, up to the first after it.
type span struct{ from, to window.Minute }

func (s span) start() time.Time      { return time.Unix(0, s.from.Start()).UTC() }
func (s span) end() time.Time        { return time.Unix(0, s.to.Start()).UTC() }
func (s span) length() time.Duration { return time.Duration(s.to-s.from) * window.Bucket }

// lastHour is the last that can be named.
const lastHour = wire.MaxMinute/oneHour*oneHour - oneHour

// spanOf reads at, from and to; past is false where q has none of them.
func spanOf(q url.Values, longest time.Duration) (s span, past bool, err error) {
	switch at, from, to := q.Has("at"), q.Has("from"), q.Has("to"); {
	case at && (from || to):
		return s, true, badRequest("at does not go with from and to; give at, or from and to")
	case at:
		s, err = spanAt(q)
		return s, true, err
	case from != to:
		return s, true, badRequest("from and to go together; give both")
	case from:
		s, err = spanBetween(q, longest)
		return s, true, err
	}
	return s, false, nil
}

// spanAt is the hour or the day of UTC that holds at.
func spanAt(q url.Values) (span, error) {
	t, err := timeOf(q, "at")
	if err != nil {
		return span{}, err
	}
	length := oneHour
	if q.Has("window") {
		asked, err := window.Parse(q.Get("window"))
		if err != nil || asked != time.Hour && asked != 24*time.Hour {
			return span{}, badRequest("window: %q is not allowed with at; allowed: 1h, 24h", q.Get("window"))
		}
		length = window.Minute(asked / window.Bucket)
	}
	from := window.MinuteOf(t.UnixNano()) / length * length
	return span{from, from + length}, nil
}

func spanBetween(q url.Values, longest time.Duration) (span, error) {
	if q.Has("window") {
		return span{}, badRequest("window does not go with from and to, which say the span; leave it out")
	}
	var s span
	for _, edge := range []struct {
		name string
		at   *window.Minute
	}{{"from", &s.from}, {"to", &s.to}} {
		t, err := timeOf(q, edge.name)
		if err != nil {
			return span{}, err
		}
		if before := t.Truncate(time.Hour); !t.Equal(before) {
			return span{}, badRequest("%s: %q is no whole hour; allowed next to it: %s, %s", edge.name, q.Get(edge.name),
				before.Format(time.RFC3339), before.Add(time.Hour).Format(time.RFC3339))
		}
		*edge.at = window.MinuteOf(t.UnixNano())
	}
	switch {
	case s.from >= s.to:
		return span{}, badRequest("from: must be before to")
	case s.length() > longest:
		return span{}, badRequest("from and to are %s apart; allowed: 1h to %s, which is as long as hours are kept", window.Name(s.length()), window.Name(longest))
	}
	return s, nil
}

// timeOf reads a time from a query.
func timeOf(q url.Values, name string) (time.Time, error) { return momentOf(name, q.Get(name)) }

// momentOf reads a time of RFC 3339 or in seconds.
func momentOf(name, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	seconds, notNumber := strconv.ParseInt(text, 10, 64)
	if notNumber == nil {
		t, err = time.Unix(seconds, 0), nil
	}
	first, last := time.Unix(0, 0).UTC(), time.Unix(0, lastHour.Start()).UTC()
	switch {
	case err != nil:
		return t, badRequest("%s: %q is no time; allowed: RFC 3339 such as 2026-01-02T15:00:00Z (in an address a plus sign is written %%2B), or seconds since 1970", name, text)
	case t.Before(first) || t.After(last):
		unit := ""
		if notNumber == nil && t.After(last) && !time.UnixMilli(seconds).After(last) {
			unit = "; seconds since 1970 are meant, not milliseconds"
		}
		return t, badRequest("%s: %q is out of range; allowed: %s to %s%s", name, text, first.Format(time.RFC3339), last.Format(time.RFC3339), unit)
	}
	return t.UTC(), nil
}
