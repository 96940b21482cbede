package topkexporter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/otel-topk/collector/exporter/topkexporter/internal/exact"
	"github.com/otel-topk/collector/internal/rule"
)

// pointCount is the answer of /v1/count and /v1/keys/{key}/count.
type pointCount struct {
	heading
	Key        string   `json:"key"`
	Parts      []string `json:"parts"`
	Rank       *int     `json:"rank"` // null: not in the rule's longest list
	Estimate   uint64   `json:"estimate"`
	Lower      uint64   `json:"lower"`
	ErrorBound uint64   `json:"error_bound"`
}

const (
	keyPathStart = "/v1/keys/"
	keyPathEnd   = "/count"
)

// keyOfPath is the escaped {key} of a path /v1/keys/{key}/count. The key may be empty, and may hold slashes.
func keyOfPath(escaped string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(escaped, keyPathStart)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, keyPathEnd)
}

// countOfPath answers /v1/keys/{key}/count.
func (h *handler) countOfPath(ctx context.Context, c *catalog, escapedKey, rawQuery string) (*answer, error) {
	key, err := url.PathUnescape(escapedKey)
	if err != nil {
		return nil, badRequest("key: %v", err)
	}
	q, err := parameters(rawQuery, listParameters)
	if err != nil {
		return nil, err
	}
	return h.count(ctx, c, key, q)
}

// countOfQuery answers /v1/count.
func (h *handler) countOfQuery(ctx context.Context, c *catalog, rawQuery string) (*answer, error) {
	q, err := parameters(rawQuery, countParameters)
	if err != nil {
		return nil, err
	}
	if !q.Has("key") {
		return nil, badRequest("key: missing; give key=, which may be empty")
	}
	return h.count(ctx, c, q.Get("key"), q)
}

func (h *handler) count(ctx context.Context, c *catalog, text string, q url.Values) (*answer, error) {
	s, err := h.choose(ctx, c, q)
	if err != nil {
		return nil, err
	}
	p := pointCount{heading: s.heading(), Key: strings.ToValidUTF8(text, "\uFFFD"), Parts: []string{}}
	if s.rule != nil {
		if err := p.look(&s, text); err != nil {
			return nil, err
		}
	}
	if s.exact != nil && p.Rank == nil {
		h.countExactly(ctx, &s, &p)
	}
	return newJSON(p, cacheLists), nil
}

// countExactly looks for a key that is not in the list of s. As long as that takes, its count is bounded by the list.
func (h *handler) countExactly(ctx context.Context, s *selection, p *pointCount) {
	found, status := h.recounts.exact.CountKey(ctx, s.exact, p.Key)
	if status != exact.Exactly {
		s.pending()
		p.heading = s.heading()
		p.Approximate = true
		return
	}
	p.Lower, p.Estimate, p.ErrorBound = found.Sum.Weight, found.Sum.Weight, 0
}

// look fills in what s knows of the key that text writes.
func (p *pointCount) look(s *selection, text string) error {
	definition := s.rule.keyRule()
	parts, err := partsOf(definition, text)
	if err != nil {
		return err
	}
	p.Key = definition.KeyOf(parts...)
	p.Parts = filled(definition.Parts(p.Key))
	if s.list == nil {
		return nil
	}
	upper, rank := s.list.most(), 0
	if s.rule.keyed != nil || !cutBySeed(definition, parts) {
		p.Lower, upper, rank = s.list.count(p.Key)
	}
	p.Estimate, p.ErrorBound = upper, upper-p.Lower
	if rank > 0 {
		p.Rank = &rank
	}
	return nil
}

// partsOf reads a key as a user writes it: as it is, or for a composite key as a JSON array of its parts.
func partsOf(d *rule.Definition, text string) ([]string, error) {
	if len(d.Key) == 1 {
		return []string{text}, nil
	}
	refuse := badRequest("key: rule %q counts %d parts, so the key is a JSON array of %d texts, such as [\"a\",\"b\"]", d.Name, len(d.Key), len(d.Key))
	var values []any
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if decoder.Decode(&values) != nil || len(values) != len(d.Key) {
		return nil, refuse
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, refuse
	}
	parts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			parts[i] = v
		case json.Number:
			parts[i] = v.String()
		case bool:
			parts[i] = map[bool]string{true: "true", false: "false"}[v]
		default:
			return nil, refuse
		}
	}
	return parts, nil
}

// cutBySeed says whether the key of parts is so long that it is cut, and so depends on the seed.
func cutBySeed(d *rule.Definition, parts []string) bool {
	reseeded := *d
	reseeded.Shape.Seed++
	return reseeded.KeyOf(parts...) != d.KeyOf(parts...)
}
