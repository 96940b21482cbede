package eventsreceiver

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/receiver/eventsreceiver/internal/metadata"
)

const (
	path       = "/v1/events"
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"

	// namedRejections is how many rejected events an answer names.
	namedRejections = 100
)

// answer to a request that was taken.
type answer struct {
	Accepted      int         `json:"accepted"`
	Rejected      []rejection `json:"rejected"`
	RejectedTotal int         `json:"rejected_total"`
}

// rejection of one event.
type rejection struct {
	Index int    `json:"index"`
	Error string `json:"error"`
}

// ServeHTTP takes the events of a request, and answers once the pipeline has taken them.
func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.URL.Path != path:
		e.refuse(w, r, refusef(http.StatusNotFound, reasonPath, "%s is not here; events go to %s", cut(r.URL.Path), path))
		return
	case r.Method != http.MethodPost:
		e.refuse(w, r, refusef(http.StatusMethodNotAllowed, reasonMethod, "%s is not allowed; allowed is POST", cut(r.Method)))
		return
	case kind != typeJSON && kind != typeNDJSON:
		e.refuse(w, r, refusef(http.StatusUnsupportedMediaType, reasonType, "Content-Type: %q, allowed is %s (an array of events, or one) or %s (one in each line)",
			cut(r.Header.Get("Content-Type")), typeJSON, typeNDJSON))
		return
	}
	b := newBatch(e.cfg, shareOf(r.Context()), time.Now())
	err := b.read(r.Body, kind == typeNDJSON)
	if err == nil {
		err = e.send(r.Context(), b)
	}
	if why := new(refusal); errors.As(err, &why) {
		e.refuse(w, r, why)
		return
	}
	for reason, n := range b.reasons {
		e.telemetry.ReceiverEventsRejected.Add(r.Context(), n, metric.WithAttributes(attribute.String("reason", reason)))
	}
	write(w, http.StatusAccepted, answer{Accepted: b.accepted(), Rejected: b.rejected, RejectedTotal: b.rejectedTotal})
}

// send the records of b on, if there are any. An error is a refusal.
func (e *events) send(ctx context.Context, b *batch) error {
	n := b.accepted()
	if n == 0 {
		return nil
	}
	ctx = e.reported.StartLogsOp(ctx)
	err := e.next.ConsumeLogs(ctx, b.logs)
	e.reported.EndLogsOp(ctx, metadata.Type.String(), n, err)
	why := refusedBy(err)
	e.tell(why, err)
	if why == nil {
		return nil
	}
	return why
}

// refusedBy the pipeline is what it gave an error for; nil: it took the events.
func refusedBy(err error) *refusal {
	switch {
	case err == nil:
		return nil
	case consumererror.IsPermanent(err):
		return refusef(http.StatusInternalServerError, reasonForGood, "the pipeline refuses these events for good; the collector's log says why")
	}
	return refusef(http.StatusServiceUnavailable, reasonForNow, "the pipeline does not take events now; none of these is taken, send them again")
}

// tell in the log when the pipeline begins to refuse events, and when it takes them again.
func (e *events) tell(why *refusal, err error) {
	now := ""
	if why != nil {
		now = why.reason
	}
	switch before := e.refusing.Swap(now); {
	case before == now || before == nil && now == "":
	case why != nil:
		e.set.Logger.Error("The pipeline refuses events; clients are told", zap.Error(err), zap.Bool("for_good", now == reasonForGood))
	default:
		e.set.Logger.Info("The pipeline takes events again")
	}
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
