package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/wire"
	"github.com/otel-topk/collector/topk"
)

const (
	mostFile   = 1 << 30 // bytes of what is decoded
	outputYAML = "yaml"
)

func newDecode() *cobra.Command {
	var (
		k      int
		output string
	)
	cmd := &cobra.Command{
		Use:   "decode [FILE]",
		Short: "Show what is in an encoded summary, or in states, lists and roll-ups as they travel",
		Long: `Show what is in a file, or in the standard input, in a form that can be read:

  - a summary, as the Go package topk encodes it,
  - an OTLP request of logs (protobuf, or any number as JSON, as the file exporter writes them) with the states that a topk
    processor sends, or the lists and roll-ups that a trend receiver publishes.

What is none of these is told, and the rest is shown.

Exit codes: 0 all was decoded; 1 something was not; 2 wrong usage, or no such file.`,
		Example: `  topk decode states.json
  kafka-console-consumer --topic topk_lists --max-messages 1 | topk decode -k 3`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("%d arguments: one FILE is decoded, see topk decode --help", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if k < 1 || k > maxK {
				return fmt.Errorf("--k: %d is not in 1..%d", k, maxK)
			}
			if output != outputYAML && output != outputJSON {
				return fmt.Errorf("--output: %q is neither yaml nor json", output)
			}
			data, err := contents(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			show := showYAML
			if output == outputJSON {
				show = showJSON
			}
			err = decode(data, k, func(e *entry) error { return show(cmd.OutOrStdout(), e) })
			if err != nil {
				return failure{err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.IntVarP(&k, "k", "k", 10, "keys of a list to show, 1 to 1000000")
	flags.StringVarP(&output, "output", "o", outputYAML, "yaml, a document for each, or json, an object on each line")
	return cmd
}

// contents of the file that is named, or of stdin.
func contents(args []string, stdin io.Reader) ([]byte, error) {
	from, name := stdin, "standard input"
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, err
		}
		defer file.Close()
		from, name = file, args[0]
	}
	data, err := io.ReadAll(io.LimitReader(from, mostFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, mostFile)
	}
	return data, nil
}

// decode shows what data holds, and returns what it could not.
func decode(data []byte, k int, show func(*entry) error) error {
	summary := new(topk.Summary)
	notSummary := summary.UnmarshalBinary(data)
	if notSummary == nil {
		return show(&entry{Kind: "summary", Summary: describe(summary, k)})
	}
	requests, err := requestsIn(data)
	if err != nil {
		return fmt.Errorf("neither a summary (%w) nor an OTLP request of logs (%w)", notSummary, err)
	}
	var problems []error
	for _, ld := range requests {
		for m, err := range messages(ld) {
			if err != nil {
				problems = append(problems, err)
			} else if err := show(entryOf(m, k)); err != nil {
				return err
			}
		}
	}
	return errors.Join(problems...)
}

// requestsIn are OTLP requests: any number as JSON, or one in protobuf.
func requestsIn(data []byte) (requests []plog.Logs, err error) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		ld, err := new(plog.ProtoUnmarshaler).UnmarshalLogs(data)
		if err == nil && ld.ResourceLogs().Len() == 0 {
			err = errors.New("it is empty")
		}
		return []plog.Logs{ld}, err
	}
	for values := json.NewDecoder(bytes.NewReader(data)); ; {
		var value json.RawMessage
		if err := values.Decode(&value); err == io.EOF {
			return requests, nil
		} else if err != nil {
			return nil, err
		}
		ld, err := new(plog.JSONUnmarshaler).UnmarshalLogs(value)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", len(requests)+1, err)
		}
		requests = append(requests, ld)
	}
}

// messages and publications of a request, each scope by itself: nobody sends both, but a file may hold both.
func messages(ld plog.Logs) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				one := plog.NewLogs()
				sl.CopyTo(one.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty())
				read := wire.Publications(one)
				if name := sl.Scope().Name(); name == wire.ScopeState || name == wire.ScopeReport {
					read = wire.Messages(one)
				}
				for m, err := range read {
					if !yield(m, err) {
						return
					}
				}
			}
		}
	}
}
