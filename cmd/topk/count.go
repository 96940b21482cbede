package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newCount() *cobra.Command {
	var (
		from   serverFlags
		list   listFlags
		output string
	)
	cmd := &cobra.Command{
		Use:   "count KEY",
		Short: "Ask a gateway for the count of any key, listed or not",
		Long: `Ask a gateway for the bounds on the weight of any key, whether it is in the list or not.

A composite key is a JSON array of its parts. The estimate never undercounts.

Exit codes: 0 answered; 1 the server did not answer, or failed; 2 wrong usage, or there is no such rule, window or group.`,
		Example: `  topk count acme
  topk count --url https://gateway:7070 --rule endpoints --window 24h '["GET","/cart"]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%d arguments: one KEY is asked for, see topk count --help", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := from.server()
			if err != nil {
				return err
			}
			if err := checkOutput(output); err != nil {
				return err
			}
			query := list.query(cmd.Flags().Changed)
			query.Set("key", args[0])
			body, err := s.get(cmd.Context(), "v1/count", query)
			if err != nil {
				return err
			}
			if output == outputJSON {
				return indented(cmd.OutOrStdout(), body)
			}
			return printCount(cmd.OutOrStdout(), body)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	list.add(flags)
	from.add(flags)
	addOutput(flags, &output)
	return cmd
}

func printCount(w io.Writer, body []byte) error {
	var c struct {
		heading
		Key      string `json:"key"`
		Rank     *int   `json:"rank"`
		Estimate uint64 `json:"estimate"`
		Lower    uint64 `json:"lower"`
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return failure{fmt.Errorf("the answer is none of a topk exporter: %w", err)}
	}
	bounds := fmt.Sprintf("between %d and %d", c.Lower, c.Estimate)
	switch {
	case c.AsOf == nil:
		bounds = "nothing is known yet"
	case c.Estimate == c.Lower:
		bounds = fmt.Sprintf("exactly %d", c.Estimate)
	case c.Lower == 0:
		bounds = fmt.Sprintf("at most %d", c.Estimate)
	}
	rank := "not in the list"
	if c.Rank != nil {
		rank = fmt.Sprintf("rank %d", *c.Rank)
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s\n%s\n", printable(c.Key), bounds, rank, strings.Join([]string{c.name(), c.time(), c.state()}, "; "))
	return err
}
