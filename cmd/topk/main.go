// Command topk asks gateways for their lists, and an archive for exact counts.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/otel-topk/collector/internal/recount"
)

// What the command ends with.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitNoArchive = 3
)

// failure is an error of the work, not of how it was asked for.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the command with these arguments; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "topk",
		Short:         "Ask otel-topk which ten",
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newTop(), newCount(), newRecount(), newDecode())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "topk:", strings.TrimSpace(err.Error()))
	switch {
	case errors.Is(err, recount.ErrNoArchive):
		return exitNoArchive
	case errors.As(err, new(failure)):
		return exitFailed
	default:
		return exitUsage
	}
}
