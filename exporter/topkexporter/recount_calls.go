package topkexporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
)

// mostJobsListed is how many jobs /v1/recounts lists.
const mostJobsListed = 100

// askAgainAfter is when there may be room for one more recount.
const askAgainAfter = 30 * time.Second

// jobOfPath is the {job_id} of a path /v1/recounts/{job_id}.
func jobOfPath(escaped string) (id string, ok bool) {
	id, ok = strings.CutPrefix(escaped, recountsRoute+"/")
	if !ok || id == "" || strings.Contains(id, "/") {
		return "", false
	}
	return id, true
}

// recount answers /v1/recounts, and of one job, if there is one in the path.
func (h *handler) recount(w http.ResponseWriter, r *http.Request, job string) {
	switch err := h.mayRecount(r); {
	case err != nil:
		writeError(w, r, err)
	case r.Method == http.MethodPost:
		h.startRecount(w, r)
	case r.Method == http.MethodDelete:
		h.cancelRecount(w, r, job)
	case job != "":
		h.showRecount(w, r, job)
	default:
		writeJSON(w, r, http.StatusOK, newJobList(h.recounts.queue.Newest(mostJobsListed)))
	}
}

func (h *handler) mayRecount(r *http.Request) error {
	if h.recounts == nil {
		return notFound("recounts are off: the configuration of the topk exporter has no recount section")
	}
	if err := h.guard.check(r); err != nil {
		return err
	}
	_, err := parameters(r.URL.RawQuery, nil)
	return err
}

func (h *handler) startRecount(w http.ResponseWriter, r *http.Request) {
	body, err := readOrder(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	order, err := h.order(body, h.store.catalog(), whoAsks(r))
	if err != nil {
		writeError(w, r, err)
		return
	}
	job, err := h.recounts.queue.Submit(context.WithoutCancel(r.Context()), *order)
	if err != nil {
		writeError(w, r, h.recounts.problem(err))
		return
	}
	w.Header().Set("Location", recountsRoute+"/"+job.ID)
	writeJSON(w, r, http.StatusAccepted, struct {
		JobID string `json:"job_id"`
	}{job.ID})
}

func (h *handler) showRecount(w http.ResponseWriter, r *http.Request, id string) {
	job, result, err := h.recounts.queue.Get(r.Context(), id)
	if err != nil {
		writeError(w, r, h.recounts.problem(err))
		return
	}
	writeJSON(w, r, http.StatusOK, newJobAnswer(&job, result))
}

func (h *handler) cancelRecount(w http.ResponseWriter, r *http.Request, id string) {
	job, err := h.recounts.queue.Cancel(context.WithoutCancel(r.Context()), id)
	switch {
	case errors.Is(err, recounts.ErrEnded):
		writeError(w, r, conflicting("job: it is %s and cannot be canceled; allowed for jobs that are queued or running", job.Status))
	case err != nil:
		writeError(w, r, h.recounts.problem(err))
	default:
		h.showRecount(w, r, id)
	}
}

// problem is what a client is told of an error of the queue.
func (r *recounting) problem(err error) error {
	switch {
	case errors.Is(err, recounts.ErrFull):
		r.telemetry.recountRefused()
		return &problem{status: http.StatusTooManyRequests, retryAfter: askAgainAfter, text: fmt.Sprintf(
			"%d recounts run (recount.max_jobs) and %d wait (recount.max_waiting); ask again later", r.config.MaxJobs, r.config.MaxWaiting)}
	case errors.Is(err, recounts.ErrUnknown):
		return notFound("job: there is none of this id, or it is kept no longer; /v1/recounts lists those that are")
	case errors.Is(err, recounts.ErrClosed):
		return &problem{status: http.StatusServiceUnavailable, text: err.Error(), retryAfter: askAgainAfter}
	}
	return &problem{status: http.StatusServiceUnavailable, text: "the storage cannot be read now: " + err.Error(), retryAfter: askAgainAfter}
}
