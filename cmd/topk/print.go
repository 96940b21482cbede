package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/table"
)

// report is what is printed. Its JSON is a contract.
type report struct {
	Rule        string       `json:"rule"`
	Fingerprint string       `json:"fingerprint"`
	From        string       `json:"from"`
	To          string       `json:"to"`
	Complete    bool         `json:"complete"`  // false: files were left out, or an hour is open
	OpenFrom    *string      `json:"open_from"` // the first hour that is open; null: all are closed
	Files       []string     `json:"files"`
	Missing     []string     `json:"missing_hours"`
	LeftOut     []string     `json:"left_out"`
	Skipped     rule.Skipped `json:"skipped"`
	Results     []listJSON   `json:"results"`
}

type listJSON struct {
	Scope    string     `json:"scope"`
	Group    *string    `json:"group"`    // null: not one of a group
	Total    uint64     `json:"total"`    // weight of all records
	Records  uint64     `json:"records"`  // all that were counted
	Distinct *uint64    `json:"distinct"` // null: only the keys asked for were counted
	Items    []itemJSON `json:"items"`
}

type itemJSON struct {
	Rank    *int     `json:"rank"` // null: it was asked for
	Key     string   `json:"key"`
	Parts   []string `json:"parts"`
	Count   uint64   `json:"count"`
	Records uint64   `json:"records"`
	Share   float64  `json:"share"` // of total
}

func (a *asked) print(w io.Writer, c *recount.Counts) error {
	r, err := a.report(c)
	if err != nil {
		return err
	}
	if a.output == outputJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(r)
	} else {
		err = r.table(w)
	}
	if err == nil && len(c.Files) == 0 && len(c.LeftOut) > 0 {
		err = errAllLeftOut
	}
	return err
}

func (a *asked) report(c *recount.Counts) (*report, error) {
	d := a.definition()
	r := &report{
		Rule: d.Name, Fingerprint: d.Fingerprint(),
		From: a.question.From.Format(time.RFC3339Nano), To: a.question.To.Format(time.RFC3339Nano),
		Files: []string{}, Missing: []string{}, LeftOut: append([]string{}, c.LeftOut...),
		Skipped: c.Skipped,
	}
	r.Complete = len(r.LeftOut) == 0 && a.openFrom.IsZero()
	if !a.openFrom.IsZero() {
		from := a.openFrom.Format(time.RFC3339)
		r.OpenFrom = &from
	}
	for _, f := range c.Files {
		r.Files = append(r.Files, f.Path())
	}
	for _, h := range c.Missing {
		r.Missing = append(r.Missing, h.Start().Format(time.RFC3339))
	}
	found := map[rule.Group][]table.Row{}
	if a.question.Keys != nil {
		for row, err := range c.Rows() {
			if err != nil {
				return nil, err
			}
			found[row.Group] = append(found[row.Group], row)
		}
	}
	for _, sum := range c.Sums() {
		list := listJSON{Scope: sum.Group.Scope.String(), Total: sum.Weight, Records: sum.Records, Items: []itemJSON{}}
		if sum.Group.Scope == rule.ScopeGroup {
			list.Group = &sum.Group.Name
		}
		rows := found[sum.Group]
		if a.question.Keys == nil {
			list.Distinct = &sum.Distinct
			var err error
			if rows, err = c.Top(sum.Group, a.k); err != nil {
				return nil, err
			}
		}
		for i, row := range rows {
			item := itemJSON{Key: row.Key, Parts: d.Parts(row.Key), Count: row.Weight, Records: row.Records}
			if rank := i + 1; a.question.Keys == nil {
				item.Rank = &rank
			}
			if sum.Weight > 0 {
				item.Share = float64(row.Weight) / float64(sum.Weight)
			}
			list.Items = append(list.Items, item)
		}
		r.Results = append(r.Results, list)
	}
	return r, nil
}

// table prints the lists for people. Keys that could play tricks on a terminal are quoted.
func (r *report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if r.OpenFrom != nil {
		fmt.Fprintf(t, "INCOMPLETE: from %s hours are not closed, and records of them may not be archived yet\n", *r.OpenFrom)
	}
	if n := len(r.LeftOut); n > 0 {
		fmt.Fprintf(t, "INCOMPLETE: %s left out\n", number(n, "damaged or foreign file"))
	}
	for _, why := range r.LeftOut {
		fmt.Fprintf(t, "left out: %s\n", why)
	}
	fmt.Fprintf(t, "%s from %s to %s, %s\n", r.Rule, r.From, r.To, number(len(r.Files), "file"))
	if n := len(r.Missing); n > 0 {
		fmt.Fprintf(t, "%s without a file, the first: %s\n", number(n, "hour"), strings.Join(r.Missing[:min(n, 5)], ", "))
	}
	for _, s := range []struct {
		n   uint64
		why string
	}{
		{r.Skipped.MissingKey, "without a part of the key"},
		{r.Skipped.BadWeight, "whose weight is missing or no number that counts"},
		{r.Skipped.Errors, "for which an expression of the rule failed"},
	} {
		if s.n > 0 {
			fmt.Fprintf(t, "not counted: %s %s\n", number(s.n, "record"), s.why)
		}
	}
	for i := range r.Results {
		r.Results[i].table(t)
	}
	return t.Flush()
}

func (l *listJSON) table(w io.Writer) {
	name := l.Scope
	if l.Group != nil {
		name += " " + printable(*l.Group)
	}
	fmt.Fprintf(w, "\n%s: %s", name, number(l.Records, "record"))
	if l.Total != l.Records {
		fmt.Fprintf(w, ", total %d", l.Total)
	}
	if l.Distinct != nil {
		fmt.Fprintf(w, ", %s", number(*l.Distinct, "distinct key"))
	}
	fmt.Fprintln(w)
	for _, item := range l.Items {
		rank := ""
		if item.Rank != nil {
			rank = strconv.Itoa(*item.Rank)
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f%%\t  %s\n", rank, item.Count, 100*item.Share, printable(item.Key))
	}
}

// number of things.
func number[N int | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// printable quotes what is not plain text.
func printable(s string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) }
	if s == "" || s[0] == '"' || strings.TrimSpace(s) != s || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}
