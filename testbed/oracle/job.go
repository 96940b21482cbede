package oracle

import (
	"fmt"
	"strings"
)

// Job is the API's answer to a call of /v1/recounts/{job_id}.
type Job struct {
	ID           string   `json:"job_id"`
	Status       string   `json:"status"`
	Error        string   `json:"error"`
	Rule         string   `json:"rule"`
	Scope        string   `json:"scope"`
	Group        string   `json:"group"`
	Reason       string   `json:"reason"`
	Attempts     int      `json:"attempts"`
	Total        uint64   `json:"total"`
	Records      uint64   `json:"records"`
	Distinct     int      `json:"distinct"`
	MissingHours []string `json:"missing_hours"`
	LeftOut      []string `json:"left_out"`
	Results      []Exact  `json:"results"`
}

// Ended jobs change no more.
func (j *Job) Ended() bool {
	return j.Status == "done" || j.Status == "failed" || j.Status == "canceled"
}

// Exact count of a key.
type Exact struct {
	Rank    int      `json:"rank"`
	Key     string   `json:"key"`
	Parts   []string `json:"parts"`
	Count   uint64   `json:"count"`
	Records uint64   `json:"records"`
}

// Name is that of Item.
func (e *Exact) Name() string {
	if len(e.Parts) > 1 {
		return strings.Join(e.Parts, "|")
	}
	return e.Key
}

// Exactly says where the job's list is not that of the first k of exact, to the last count.
func (j *Job) Exactly(exact *Counts, k int) error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if j.Status != "done" {
		wrong("status %s: %s", j.Status, j.Error)
	}
	ranked := exact.Ranked()
	if j.Total != exact.Total || j.Records != exact.Records || j.Distinct != len(ranked) {
		wrong("total %d of %d records and %d keys, not %d of %d and %d", j.Total, j.Records, j.Distinct, exact.Total, exact.Records, len(ranked))
	}
	ranked = ranked[:min(k, len(ranked))]
	if len(j.Results) != len(ranked) {
		wrong("%d items are listed, not %d", len(j.Results), len(ranked))
	}
	for i := range min(len(ranked), len(j.Results)) {
		item := &j.Results[i]
		if item.Rank != i+1 || item.Count != ranked[i].Weight || exact.Weights[item.Name()] != item.Count {
			wrong("place %d holds %q of %d, not %q of %d", i+1, item.Name(), item.Count, ranked[i].Key, ranked[i].Weight)
		}
		if i > 0 && item.Count == j.Results[i-1].Count && item.Key <= j.Results[i-1].Key {
			wrong("%q is out of order", item.Key)
		}
	}
	return join(problems)
}
