package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"text/tabwriter"
	"time"
)

// list is what the quickstart shows of an answer of /v1/trending.
type list struct {
	Window    string     `json:"window"`
	AsOf      *time.Time `json:"as_of"`
	Certified bool       `json:"certified"`
	Total     uint64     `json:"total"`
	Items     []struct {
		Rank     int     `json:"rank"`
		Key      string  `json:"key"`
		Estimate uint64  `json:"estimate"`
		Lower    uint64  `json:"lower"`
		Share    float64 `json:"share"`
		Certain  bool    `json:"certain"`
	} `json:"items"`
}

func fetch(ctx context.Context, url string) (*list, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, resp.Status)
	}
	var l list
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return &l, nil
}

func (l *list) print(w io.Writer) {
	if l.AsOf == nil {
		fmt.Fprintln(w, "\nNothing counted yet.")
		return
	}
	fmt.Fprintf(w, "\nThe tenants with the most log records in %s, as of %s, of %s records:\n\n",
		l.Window, l.AsOf.Format(time.TimeOnly+" MST"), grouped(l.Total))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "rank\ttenant\tat most\tat least\tshare\tin the top for certain\t")
	for _, item := range l.Items {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%.1f %%\t%s\t\n",
			item.Rank, printable(item.Key), grouped(item.Estimate), grouped(item.Lower), 100*item.Share, yes(item.Certain))
	}
	_ = table.Flush() // w is a terminal or a buffer
	fmt.Fprintf(w, "\nCertified, that is, no other key can belong in it: %s.\n", yes(l.Certified))
}

// printable keeps a key that holds control characters from steering the terminal.
func printable(key string) string {
	quoted := strconv.Quote(key)
	if quoted == `"`+key+`"` {
		return key
	}
	return quoted
}

// grouped writes n with thousands apart.
func grouped(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
