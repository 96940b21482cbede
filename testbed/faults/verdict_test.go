package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otel-topk/collector/testbed/generator"
	"github.com/otel-topk/collector/testbed/oracle"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func listOf(total, estimate, lower uint64) *oracle.List {
	start, asOf := noon, noon.Add(30*time.Second)
	return &oracle.List{
		Rule: "slots", Scope: "global", WindowStart: &start, AsOf: &asOf, Total: total, TotalUpper: total, Records: total,
		Items: []oracle.Item{{Rank: 1, Key: "a", Estimate: estimate, Lower: lower}},
	}
}

// One batch of two records of key a was answered, after it had been sent once without an answer.
func TestAListIsHeldBetweenWhatWasAnsweredAndWhatWasSent(t *testing.T) {
	l := newLedger()
	b := &batch{at: noon, slot: "a", records: make([]generator.Record, 2)}
	l.attempted(b, 1, false, true)
	l.attempted(b, 1, true, true)
	for _, c := range []struct {
		what                   string
		total, estimate, lower uint64
		wrong                  string
	}{
		{"counted once", 2, 2, 2, ""},
		{"counted twice for want of an answer", 4, 4, 4, ""},
		{"wide bounds", 2, 9, 0, ""},
		{"a record is lost", 1, 2, 2, "lost"},
		{"the key is lost", 2, 1, 1, "lost"},
		{"the repeat is counted twice", 6, 6, 4, "counted twice"},
		{"the key is counted twice", 4, 6, 6, "counted twice"},
	} {
		list := listOf(c.total, c.estimate, c.lower)
		answered, sent := l.window(list)
		if err := covers(list, answered, sent); c.wrong == "" {
			assert.NoError(t, err, c.what)
		} else {
			assert.ErrorContains(t, err, c.wrong, c.what)
		}
	}

	list := listOf(2, 2, 2)
	list.Items = nil
	answered, sent := l.window(list)
	assert.ErrorContains(t, covers(list, answered, sent), "not listed")
	list.Theta = 2
	assert.NoError(t, covers(list, answered, sent))
	*list.AsOf = noon.Add(-time.Minute)
	answered, sent = l.window(list)
	assert.Zero(t, answered.Total+sent.Total, "of the minute before")
}

func TestAnAnswerThatMayComeTooLateIsNoPromise(t *testing.T) {
	l := newLedger()
	l.attempted(&batch{at: noon, slot: "a", records: make([]generator.Record, 2)}, 1, true, false)
	answered, sent := l.window(listOf(0, 0, 0))
	assert.Equal(t, []uint64{0, 2}, []uint64{answered.Total, sent.Total})
}

func TestAListThatGoesBackIsNoticed(t *testing.T) {
	q := query{"slots", "5m", oracle.Global}
	ago := func(by time.Duration) *time.Time { at := noon.Add(-by); return &at }
	before := listOf(5, 5, 5)
	for _, c := range []struct {
		what   string
		change func(*oracle.List)
		status int
		wrong  string
	}{
		{"the same", func(*oracle.List) {}, 200, ""},
		{"more", func(l *oracle.List) { l.Total++ }, 200, ""},
		{"the window moves on", func(l *oracle.List) { l.Total, l.WindowStart, l.AsOf = 1, ago(-time.Minute), ago(-6*time.Minute) }, 200, ""},
		{"less", func(l *oracle.List) { l.Total-- }, 200, "total went back"},
		{"an older list", func(l *oracle.List) { l.AsOf = ago(-29 * time.Second) }, 200, "as_of went back"},
		{"an older window", func(l *oracle.List) { l.WindowStart = ago(time.Second) }, 200, "window_start went back"},
		{"a shorter window", func(l *oracle.List) { l.WindowStart = ago(-time.Second) }, 200, "is lost"},
		{"no list", func(l *oracle.List) { l.AsOf = nil }, 200, "no as_of"},
		{"an error", func(*oracle.List) {}, 500, "status 500"},
	} {
		list := listOf(5, 5, 5)
		c.change(list)
		err := new(watch).follows(q, before, list, c.status)
		lossy := (&watch{lossy: true}).follows(q, before, list, c.status)
		if c.wrong == "" {
			assert.NoError(t, err, c.what)
		} else {
			assert.ErrorContains(t, err, c.wrong, c.what)
		}
		assert.Equal(t, c.status != 200, lossy != nil, "after a loss: %s", c.what)
	}
}
