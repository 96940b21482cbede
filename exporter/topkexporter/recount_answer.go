package topkexporter

import (
	"time"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
	"github.com/otel-topk/collector/internal/rule"
)

// jobHead is what /v1/recounts lists of a job.
type jobHead struct {
	JobID    string  `json:"job_id"`
	Status   string  `json:"status"`
	Progress float64 `json:"progress"`
	Rule     string  `json:"rule"`
	From     string  `json:"from"`
	To       string  `json:"to"`
	Scope    string  `json:"scope"`
	Group    *string `json:"group"`
	K        *int    `json:"k"` // null: keys were asked for
	Reason   string  `json:"reason"`
	By       string  `json:"by"`
	Created  *string `json:"created"`
	Started  *string `json:"started"`
	Ended    *string `json:"ended"`
	Attempts int     `json:"attempts"`
	Error    *string `json:"error"`
}

// jobList is the answer of /v1/recounts.
type jobList struct {
	Recounts []jobHead `json:"recounts"`
}

// jobAnswer is the answer of /v1/recounts/{job_id}. Numbers are null unless the job is done.
type jobAnswer struct {
	jobHead
	Keys         []string      `json:"keys"` // null: the heaviest were asked for
	Total        *uint64       `json:"total"`
	Records      *uint64       `json:"records"`
	Distinct     *uint64       `json:"distinct"` // null also where keys were asked for
	Files        *int          `json:"files"`
	MissingHours []string      `json:"missing_hours"`
	LeftOut      []string      `json:"left_out"`
	LeftOutFiles int           `json:"left_out_files"`
	Skipped      *rule.Skipped `json:"skipped"`
	Results      []exactCount  `json:"results"`
}

type exactCount struct {
	Rank    *int     `json:"rank"` // null: keys were asked for
	Key     string   `json:"key"`
	Parts   []string `json:"parts"`
	Count   uint64   `json:"count"`
	Records uint64   `json:"records"`
	Share   float64  `json:"share"`
}

func newJobList(jobs []recounts.Job) jobList {
	list := jobList{Recounts: make([]jobHead, len(jobs))}
	for i := range jobs {
		list.Recounts[i] = newJobHead(&jobs[i])
	}
	return list
}

func newJobHead(j *recounts.Job) jobHead {
	h := jobHead{
		JobID:    j.ID,
		Status:   j.Status.String(),
		Progress: j.Progress,
		Rule:     j.Rule,
		From:     j.From.UTC().Format(time.RFC3339Nano),
		To:       j.To.UTC().Format(time.RFC3339Nano),
		Scope:    j.Group.Scope.String(),
		Reason:   j.Reason,
		By:       j.By,
		Created:  utc(j.Created),
		Started:  utc(j.Started),
		Ended:    utc(j.Ended),
		Attempts: j.Attempts,
		Error:    optional(j.Error),
	}
	if j.Group.Scope == rule.ScopeGroup {
		h.Group = &j.Group.Name
	}
	if j.K > 0 {
		h.K = &j.K
	}
	return h
}

// newJobAnswer tells of j; result is nil unless it is done.
func newJobAnswer(j *recounts.Job, result *recounts.Result) jobAnswer {
	a := jobAnswer{jobHead: newJobHead(j), Keys: j.Keys, MissingHours: []string{}, LeftOut: []string{}, Results: []exactCount{}}
	if result == nil {
		if j.Status == recounts.Done {
			a.Error = optional("the result was damaged in storage; ask again")
		}
		return a
	}
	a.Total, a.Records, a.Files = &result.Weight, &result.Records, &result.Files
	if j.Keys == nil {
		a.Distinct = &result.Distinct
	}
	for _, hour := range result.Missing {
		a.MissingHours = append(a.MissingHours, hour.Start().Format(time.RFC3339))
	}
	a.LeftOut, a.LeftOutFiles = filled(result.LeftOut), result.NotRead
	a.Skipped = &result.Skipped
	composite := rule.Definition{Key: make([]string, j.Parts)}
	for i := range result.Items {
		item := &result.Items[i]
		e := exactCount{
			Key: item.Key, Parts: filled(composite.Parts(item.Key)), Count: item.Weight, Records: item.Records,
			Share: share(item.Weight, result.Weight),
		}
		if j.Keys == nil {
			rank := i + 1
			e.Rank = &rank
		}
		a.Results = append(a.Results, e)
	}
	return a
}
