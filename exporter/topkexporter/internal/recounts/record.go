package recounts

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/rule"
)

// What stands before the id of a job in the keys of storage. FORMAT.md of the exporter specifies the values.
const (
	JobPrefix    = "job/"
	ResultPrefix = "result/"
)

const recordVersion = 1

var errRecord = errors.New("a value that does not read")

// appendJob encodes j with its keys.
func appendJob(b []byte, j *Job) []byte {
	b = append(b, recordVersion, byte(j.Status))
	for _, t := range []time.Time{j.Created, j.Started, j.Ended} {
		b = appendTime(b, t)
	}
	b = binary.AppendVarint(b, j.From.UnixNano())
	b = binary.AppendVarint(b, j.To.UnixNano())
	b = binary.AppendUvarint(b, uint64(j.Attempts))
	for _, text := range []string{j.Error, j.Rule, j.Fingerprint} {
		b = field.AppendText(b, text)
	}
	b = field.AppendText(append(b, byte(j.Group.Scope)), j.Group.Name)
	b = field.AppendText(field.AppendText(b, j.Reason), j.By)
	b = binary.AppendUvarint(b, uint64(j.Parts))
	b = binary.AppendUvarint(b, uint64(j.K))
	return appendTexts(b, j.Keys)
}

// DecodeJob reads what was stored under key.
func DecodeJob(key string, value []byte) (*Job, error) {
	id, ok := strings.CutPrefix(key, JobPrefix)
	r := field.New(value)
	r.Version(recordVersion)
	j := &Job{ID: id, Status: Status(r.Byte())}
	for _, t := range []*time.Time{&j.Created, &j.Started, &j.Ended} {
		*t = readTime(r)
	}
	j.From, j.To = time.Unix(0, r.Int()).UTC(), time.Unix(0, r.Int()).UTC()
	j.Attempts = int(r.UpTo(math.MaxInt32))
	for _, text := range []*string{&j.Error, &j.Rule, &j.Fingerprint} {
		*text = string(r.Text(len(value)))
	}
	j.Group = rule.Group{Scope: rule.Scope(r.Byte())}
	for _, text := range []*string{&j.Group.Name, &j.Reason, &j.By} {
		*text = string(r.Text(len(value)))
	}
	j.Parts = int(r.UpTo(math.MaxInt32))
	j.K = int(r.UpTo(math.MaxInt32))
	j.Keys = readTexts(r)
	if !ok || !r.Whole() || j.Status > Canceled || j.Group.Scope > rule.ScopeOverflow {
		return nil, errRecord
	}
	if j.Status == Done {
		j.Progress = 1
	}
	return j, nil
}

func appendResult(b []byte, res *Result) []byte {
	b = append(b, recordVersion)
	b = binary.AppendUvarint(b, uint64(len(res.Items)))
	for i := range res.Items {
		b = field.AppendText(b, res.Items[i].Key)
		b = binary.AppendUvarint(b, res.Items[i].Weight)
		b = binary.AppendUvarint(b, res.Items[i].Records)
	}
	for _, n := range res.numbers() {
		b = binary.AppendUvarint(b, *n)
	}
	b = binary.AppendUvarint(b, uint64(res.Files))
	b = binary.AppendUvarint(b, uint64(res.NotRead))
	b = binary.AppendUvarint(b, uint64(len(res.Missing)))
	for _, h := range res.Missing {
		b = binary.AppendVarint(b, int64(h))
	}
	return appendTexts(b, res.LeftOut)
}

func decodeResult(value []byte) (*Result, error) {
	r := field.New(value)
	r.Version(recordVersion)
	res := &Result{Items: make([]Item, r.Count(3))}
	for i := range res.Items {
		res.Items[i] = Item{Key: string(r.Text(len(value))), Weight: r.Uint(), Records: r.Uint()}
	}
	for _, n := range res.numbers() {
		*n = r.Uint()
	}
	res.Files = int(r.UpTo(math.MaxInt32))
	res.NotRead = int(r.UpTo(math.MaxInt32))
	res.Missing = make([]archive.Hour, r.Count(1))
	for i := range res.Missing {
		res.Missing[i] = archive.Hour(r.Int())
	}
	res.LeftOut = readTexts(r)
	if !r.Whole() {
		return nil, errRecord
	}
	return res, nil
}

// numbers are those that are stored one after the other.
func (res *Result) numbers() []*uint64 {
	s := &res.Skipped
	return []*uint64{
		&res.Weight, &res.Records, &res.Distinct,
		&s.Unmatched, &s.MissingKey, &s.BadWeight, &s.Errors, &s.CutKeys, &s.Repaired,
	}
}

// appendTime in Unix nanoseconds, 0 for none.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.AppendVarint(b, 0)
	}
	return binary.AppendVarint(b, t.UnixNano())
}

func readTime(r *field.Reader) time.Time {
	if ns := r.Int(); ns != 0 {
		return time.Unix(0, ns).UTC()
	}
	return time.Time{}
}

func appendTexts(b []byte, texts []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(texts)))
	for _, text := range texts {
		b = field.AppendText(b, text)
	}
	return b
}

// readTexts are nil where there are none.
func readTexts(r *field.Reader) []string {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	texts := make([]string, n)
	for i := range texts {
		texts[i] = string(r.Text(math.MaxInt))
	}
	return texts
}
