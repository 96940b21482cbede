package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// top is a list that is shown again and again.
type top struct {
	server *server
	query  url.Values
	every  time.Duration
}

func newTop() *cobra.Command {
	var (
		from   serverFlags
		list   listFlags
		k      int
		every  time.Duration
		once   bool
		output string
	)
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show the heaviest keys of a gateway, live",
		Long: `Show the heaviest keys that a gateway lists, anew every few seconds, until it is interrupted.

Where the output is no terminal, or is JSON, and with --once, the list is printed once.

Exit codes: 0 shown; 1 the server did not answer, or failed; 2 wrong usage, or there is no such rule, window or group.`,
		Example: `  topk top
  topk top --url https://gateway:7070 --rule endpoints --window 1h --group eu-west-1 -k 20
  topk top --output json | jq '.items[].key'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("argument %q: there are only flags, see topk top --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := from.server()
			if err != nil {
				return err
			}
			if every < time.Second {
				return fmt.Errorf("--every: %v is less than 1s", every)
			}
			if err := checkOutput(output); err != nil {
				return err
			}
			t := &top{server: s, query: list.query(cmd.Flags().Changed), every: every}
			if cmd.Flags().Changed("k") {
				t.query.Set("k", strconv.Itoa(k))
			}
			out := cmd.OutOrStdout()
			if output == outputTable && !once && isTerminal(out) {
				return t.live(cmd.Context(), out)
			}
			body, err := t.ask(cmd.Context())
			if err != nil {
				return err
			}
			if output == outputJSON {
				return indented(out, body)
			}
			return printList(out, body)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	list.add(flags)
	flags.IntVarP(&k, "k", "k", 10, "keys to show, 1 to the rule's k")
	flags.DurationVar(&every, "every", 2*time.Second, "`time` between two looks, 1s or more")
	flags.BoolVar(&once, "once", false, "print the list once")
	from.add(flags)
	addOutput(flags, &output)
	return cmd
}

func (t *top) ask(ctx context.Context) ([]byte, error) {
	return t.server.get(ctx, "v1/trending", t.query)
}

// Sequences of ECMA-48: to the first place of the screen, and erase what is after it.
const (
	home  = "\x1b[H"
	erase = "\x1b[J"
)

// live shows the list until ctx ends. A server that fails is told below the last list that it gave; one that refuses ends it.
func (t *top) live(ctx context.Context, w io.Writer) error {
	ticker := time.NewTicker(t.every)
	defer ticker.Stop()
	var body []byte
	for {
		answer, err := t.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.As(err, new(failure)) {
			return err
		}
		if err == nil {
			body = answer
		}
		screen := bytes.NewBufferString(home + erase)
		if body != nil {
			if err := printList(screen, body); err != nil {
				return err
			}
		}
		if err != nil {
			fmt.Fprintf(screen, "\n%s: %v\n", time.Now().UTC().Format("15:04:05 UTC"), err)
		}
		if _, err := screen.WriteTo(w); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// listAnswer is what is read of an answer of /v1/trending.
type listAnswer struct {
	heading
	Certified bool   `json:"certified"`
	Total     uint64 `json:"total"`
	Records   uint64 `json:"records"`
	Distinct  uint64 `json:"distinct"`
	Theta     uint64 `json:"theta"`
	Items     []struct {
		Rank        int     `json:"rank"`
		Key         string  `json:"key"`
		Estimate    uint64  `json:"estimate"`
		Lower       uint64  `json:"lower"`
		Share       float64 `json:"share"`
		RankCertain bool    `json:"rank_certain"`
	} `json:"items"`
}

const barLength = 20

// printList prints a list for people. Keys that could play tricks on a terminal are quoted.
func printList(w io.Writer, body []byte) error {
	var l listAnswer
	if err := json.Unmarshal(body, &l); err != nil {
		return failure{fmt.Errorf("the answer is none of a topk exporter: %w", err)}
	}
	certified := "exact"
	switch {
	case l.Approximate && l.Certified:
		certified = "certified"
	case l.Approximate:
		certified = "not certified"
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s; %s; %s; %s\n", l.name(), l.time(), certified, l.state())
	fmt.Fprintf(t, "%s", number(l.Records, "record"))
	if l.Total != l.Records {
		fmt.Fprintf(t, ", total %d", l.Total)
	}
	fmt.Fprintf(t, ", about %s; any other key at most %d\n\n", number(l.Distinct, "distinct key"), l.Theta)
	for _, item := range l.Items {
		rank, least := strconv.Itoa(item.Rank), ""
		if !item.RankCertain {
			rank = "~" + rank
		}
		if item.Lower < item.Estimate {
			least = fmt.Sprintf("(at least %d)", item.Lower)
		}
		bar := strings.Repeat("#", int(float64(item.Estimate)/float64(max(1, l.Items[0].Estimate))*barLength))
		fmt.Fprintf(t, "%s\t%d\t%s\t%.2f%%\t  %-*s %s\n", rank, item.Estimate, least, 100*item.Share, barLength, bar, printable(item.Key))
	}
	return t.Flush()
}
