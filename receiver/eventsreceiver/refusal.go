package eventsreceiver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Reasons for which requests are refused.
const (
	reasonAuth        = "auth"
	reasonBody        = "body"
	reasonBusy        = "busy"
	reasonConnections = "connections"
	reasonEncoding    = "content_encoding"
	reasonType        = "content_type"
	reasonMethod      = "method"
	reasonNoEvents    = "no_events"
	reasonPath        = "path"
	reasonForGood     = "pipeline_for_good"
	reasonForNow      = "pipeline_for_now"
	reasonTimeout     = "timeout"
	reasonTooLarge    = "too_large"
	reasonTooMany     = "too_many_events"
)

// comeAgain is when a client should send a request again that was not taken now.
const comeAgain = time.Second

// refusal is why a request is not taken.
type refusal struct {
	status       int
	reason, text string
}

func (r *refusal) Error() string { return r.text }

func refusef(status int, reason, format string, args ...any) *refusal {
	return &refusal{status, reason, fmt.Sprintf(format, args...)}
}

func busy(why string) *refusal {
	return refusef(http.StatusServiceUnavailable, reasonBusy, "%s; none of these events is taken, send them again", why)
}

func noEvents(format string, args ...any) *refusal {
	return refusef(http.StatusBadRequest, reasonNoEvents, format, args...)
}

// unread is the refusal for a body that cannot be read to its end.
func unread(err error) *refusal {
	var large *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &large):
		return refusef(http.StatusRequestEntityTooLarge, reasonTooLarge, "the body, unpacked, has more than the %d bytes that max_request_body_size allows", large.Limit)
	case errors.As(err, &slow) && slow.Timeout():
		return refusef(http.StatusRequestTimeout, reasonTimeout, "the request did not come whole in the time that read_timeout allows; none of its events is taken")
	}
	return refusef(http.StatusBadRequest, reasonBody, "the body cannot be read to its end: it is cut off, or is not what Content-Encoding says")
}

// body of a request. Its errors are refusals, and what is read of it is taken of the budget.
type body struct {
	from  io.Reader
	share *share
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if full := b.share.take(int64(n) * byteBytes); full != nil {
		return 0, full
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, unread(err)
	}
	return n, err
}

// refuse a request.
func (e *events) refuse(w http.ResponseWriter, r *http.Request, why *refusal) {
	e.refused(r.Context(), why.reason)
	switch why.status {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(int(comeAgain/time.Second)))
	case http.StatusRequestTimeout:
		w.Header().Set("Connection", "close")
	}
	write(w, why.status, struct {
		Error string `json:"error"`
	}{why.text})
}

func (e *events) refused(ctx context.Context, reason string) {
	e.telemetry.ReceiverEventsRefusedRequests.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// failed is called where confighttp refuses a request: its client is unknown, or its body cannot be unpacked.
func (e *events) failed(w http.ResponseWriter, r *http.Request, _ string, status int) {
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case status == http.StatusUnauthorized:
		e.refuse(w, r, refusef(status, reasonAuth, "this client may not send events: auth does not know it"))
		return
	case !e.cfg.accepts(encoding):
		e.refuse(w, r, refusef(http.StatusUnsupportedMediaType, reasonEncoding, "Content-Encoding: %q, allowed by compression_algorithms is %q",
			cut(encoding), e.cfg.ServerConfig.CompressionAlgorithms))
		return
	}
	why := unread(errOf(r.Body))
	if encoding == "snappy" { // a block tells its size before it is unpacked
		why.text += fmt.Sprintf(", or has, unpacked, more than the %d bytes that max_request_body_size allows", e.cfg.ServerConfig.MaxRequestBodySize)
	}
	e.refuse(w, r, why)
}

// errOf is what ended a body, if anything did.
func errOf(body io.Reader) error {
	_, err := body.Read(nil)
	return err
}
