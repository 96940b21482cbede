package topkexporter

import "net/url"

// formatTable is the value of format that asks for rows.
const formatTable = "table"

// row is one item of a list with what the list says of itself, for programs that read flat tables. Time is the list's as_of.
type row struct {
	Time        *string `json:"time"`
	Rule        *string `json:"rule"`
	Window      *string `json:"window"`
	Scope       string  `json:"scope"`
	Group       *string `json:"group"`
	Rank        int     `json:"rank"`
	Key         string  `json:"key"`
	Estimate    uint64  `json:"estimate"`
	Lower       uint64  `json:"lower"`
	ErrorBound  uint64  `json:"error_bound"`
	Share       float64 `json:"share"`
	RankCertain bool    `json:"rank_certain"`
	Total       uint64  `json:"total"`
	Approximate bool    `json:"approximate"`
	Certified   bool    `json:"certified"`
	Partial     bool    `json:"partial"`
}

// asTable reads format.
func asTable(q url.Values) (bool, error) {
	if format := q.Get("format"); q.Has("format") && format != formatTable {
		return false, badRequest("format: %q is not allowed; allowed: %s, or none, for the list with its coverage", format, formatTable)
	}
	return q.Has("format"), nil
}

// rows of a list, in its order.
func (t *trend) rows() []row {
	rows := make([]row, len(t.Items))
	for i := range t.Items {
		it := &t.Items[i]
		rows[i] = row{
			Time: t.AsOf, Rule: t.Rule, Window: t.Window, Scope: t.Scope, Group: t.Group,
			Rank: it.Rank, Key: it.Key, Estimate: it.Estimate, Lower: it.Lower, ErrorBound: it.ErrorBound, Share: it.Share, RankCertain: it.RankCertain,
			Total: t.Total, Approximate: t.Approximate, Certified: t.Certified, Partial: t.Partial,
		}
	}
	return rows
}
