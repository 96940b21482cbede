package topkexporter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/client"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/recounts"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/window"
)

// mostOrderBytes is the most that the body of a recount may hold, whatever max_request_body_size allows.
const mostOrderBytes = 4 << 20

// orderBody is what POST /v1/recounts takes.
type orderBody struct {
	Rule   *string           `json:"rule"`
	From   scalar            `json:"from"`
	To     scalar            `json:"to"`
	Keys   []json.RawMessage `json:"keys"`
	Group  *string           `json:"group"`
	Scope  *string           `json:"scope"`
	K      *scalar           `json:"k"`
	Reason string            `json:"reason"`
}

// scalar is a text or a number of JSON, as text.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*s = scalar(n)
	return nil
}

// readOrder reads the body of r.
func readOrder(w http.ResponseWriter, r *http.Request) (*orderBody, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != typeJSON {
		return nil, &problem{status: http.StatusUnsupportedMediaType, text: "content type: only " + typeJSON + " is allowed; send the header Content-Type: " + typeJSON}
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostOrderBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &problem{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("body: it is longer than %d bytes; allowed: what max_request_body_size says, and %d at most", tooLarge.Limit, mostOrderBytes)}
	case err != nil:
		return nil, badRequest("body: it could not be read: %v", err)
	}
	o := &orderBody{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(o); err != nil {
		return nil, unreadable(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, badRequest("body: more follows the object; one is allowed")
	}
	return o, nil
}

func unreadable(err error) error {
	var wrong *json.UnmarshalTypeError
	switch text := err.Error(); {
	case errors.As(err, &wrong) && wrong.Field == "keys":
		return badRequest(`keys: a list is needed, such as ["a", "b"], not a JSON %s`, wrong.Value)
	case errors.As(err, &wrong) && wrong.Field != "":
		return badRequest("%s: a JSON %s is not allowed there", wrong.Field, wrong.Value)
	case strings.Contains(text, "unknown field"):
		return badRequest("body: %s; allowed: from, group, k, keys, reason, rule, scope, to", strings.TrimPrefix(text, "json: "))
	}
	return badRequest(`body: no JSON object such as {"rule": "tenants", "from": "2026-01-02T10:00:00Z", "to": "2026-01-02T11:00:00Z"}`)
}

// order makes of o what is to be counted.
func (h *handler) order(o *orderBody, c *catalog, by string) (*recounts.Order, error) {
	r, err := h.recounts.choose(o.Rule)
	if err != nil {
		return nil, err
	}
	d := r.Definition()
	if !countable(r) {
		return nil, conflicting("rule: %q counts data points, which are not archived; rules over logs and spans may be recounted", d.Name)
	}
	made := &recounts.Order{Rule: d.Name, Fingerprint: d.Fingerprint(), Parts: len(d.Key), Reason: o.Reason, By: by}
	if len(o.Reason) > recounts.MaxReasonBytes {
		return nil, badRequest("reason: %d bytes; allowed: up to %d", len(o.Reason), recounts.MaxReasonBytes)
	}
	if made.Group, err = o.group(d); err != nil {
		return nil, err
	}
	if err := o.choice(d, made); err != nil {
		return nil, err
	}
	if made.From, made.To, err = h.recounts.span(o, h.now()); err != nil {
		return nil, err
	}
	return made, h.agrees(c, d)
}

// choose the rule of that name, the only one where none is named.
func (r *recounting) choose(name *string) (*rule.Rule, error) {
	switch {
	case name == nil && len(r.names) == 1:
		return r.rules[r.names[0]], nil
	case name == nil:
		return nil, badRequest("rule: several may be recounted, name one of: %s", named(r.names))
	case r.rules[*name] == nil:
		return nil, notFound("rule: %q is not among recount.rules; they are: %s", *name, named(r.names))
	}
	return r.rules[*name], nil
}

// group is the list that is asked for. In exact counts every group has its own, so there is no overflow.
func (o *orderBody) group(d *rule.Definition) (rule.Group, error) {
	q := url.Values{}
	if o.Group != nil {
		q.Set("group", *o.Group)
	}
	if o.Scope != nil {
		q.Set("scope", *o.Scope)
	}
	g, err := groupOf(q)
	switch {
	case err != nil:
		return g, err
	case g.Scope == rule.ScopeOverflow:
		return g, badRequest("scope: overflow is not counted exactly: there every group has its own list; allowed: global, group, missing")
	case g.Scope != rule.ScopeGlobal && !d.Grouped():
		return g, notGrouped(d.Name)
	case g.Scope == rule.ScopeGroup:
		g = d.GroupOf(g.Name)
	}
	return g, nil
}

// choice reads keys, or k.
func (o *orderBody) choice(d *rule.Definition, made *recounts.Order) error {
	switch {
	case o.Keys != nil && o.K != nil:
		return badRequest("k: does not go with keys, each of which is counted; give one of them")
	case o.Keys == nil:
		q := url.Values{}
		if o.K != nil {
			q.Set("k", string(*o.K))
		}
		var err error
		made.K, err = length(q, d.K)
		return err
	case len(o.Keys) == 0 || len(o.Keys) > recounts.MaxKeys:
		return badRequest("keys: %d; allowed: 1 to %d, or none at all for the heaviest", len(o.Keys), recounts.MaxKeys)
	}
	for _, raw := range o.Keys {
		text := string(raw)
		switch {
		case text[0] == '"':
			if err := json.Unmarshal(raw, &text); err != nil {
				return badRequest("keys: %v", err)
			}
		case text == "null" || text[0] == '{' || text[0] == '[' && len(d.Key) == 1:
			return badRequest("keys: %s is no key of rule %q; allowed: texts, and lists of its parts for a key of several", text, d.Name)
		}
		parts, err := partsOf(d, text)
		if err != nil {
			return err
		}
		if key := d.KeyOf(parts...); !slices.Contains(made.Keys, key) {
			made.Keys = append(made.Keys, key)
		}
	}
	return nil
}

// span is the range of event time.
func (r *recounting) span(o *orderBody, now time.Time) (from, to time.Time, err error) {
	missing := ""
	switch {
	case o.From == "" && o.To == "":
		missing = "from and to"
	case o.From == "":
		missing = "from"
	case o.To == "":
		missing = "to"
	}
	if missing != "" {
		return from, to, badRequest("%s: missing; from and to are both required, as RFC 3339 such as 2026-01-02T15:00:00Z, or seconds since 1970", missing)
	}
	if from, err = momentOf("from", string(o.From)); err != nil {
		return from, to, err
	}
	if to, err = momentOf("to", string(o.To)); err != nil {
		return from, to, err
	}
	closed := r.closed(now)
	switch length := to.Sub(from); {
	case length <= 0:
		err = badRequest("from: must be before to")
	case length > r.config.MaxRange:
		err = badRequest("from and to are %s apart; allowed: up to %s, which is recount.max_range", length, window.Name(r.config.MaxRange))
	case from.After(now):
		err = badRequest("from: %s is in the future", from.Format(time.RFC3339Nano))
	case to.After(closed):
		err = conflicting("to: %s is in an hour that is not closed; allowed now: up to %s. An hour is closed %s after it ends, which is recount.grace",
			to.Format(time.RFC3339Nano), closed.Format(time.RFC3339), r.config.Grace)
	}
	return from, to, err
}

// agrees says no if what was counted under the name of d was counted by another definition.
func (h *handler) agrees(c *catalog, d *rule.Definition) error {
	counted, seeded := h.counted(c, d.Name)
	if counted == nil || sameCount(counted, d, seeded) {
		return nil
	}
	return conflicting("rule: %q was counted by another definition than recount.rules has; differing: %s; counted: %s; here: %s",
		d.Name, strings.Join(differing(counted, d, seeded), ", "), written(counted), written(d))
}

// counted is the definition that is served under a name, else that of its newest hour, nil if there is none; seeded says whether
// its seed is known.
func (h *handler) counted(c *catalog, name string) (d *rule.Definition, seeded bool) {
	r := c.rules[name]
	switch {
	case r == nil:
		d = h.store.history.definitions()[name]
		return d, d != nil
	case r.keyed != nil && sameCount(r.keyed, r.definition, false):
		return r.keyed, true
	}
	return r.definition, false
}

// sameCount says whether a and b count the same; where seeded is false, apart from the seed.
func sameCount(a, b *rule.Definition, seeded bool) bool {
	x, y := *a, *b
	if !seeded {
		x.Shape.Seed, y.Shape.Seed = 0, 0
	}
	return x.Fingerprint() == y.Fingerprint()
}

// written is d as JSON, without its seed.
func written(d *rule.Definition) string {
	return strings.TrimSpace(string(newJSON(newDefinition(d), "").body))
}

// whoAsks is the name that auth knows, else the address of who asks.
func whoAsks(r *http.Request) string {
	if known := client.FromContext(r.Context()).Auth; known != nil {
		for _, attribute := range []string{"subject", "username"} {
			if name, ok := known.GetAttribute(attribute).(string); ok && name != "" {
				return name
			}
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "" // a socket of this machine
	}
	return host
}
