// Command loadgen sends generated logs and traces over OTLP gRPC at a steady rate, until it is stopped or its time is up.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/otel-topk/collector/testbed/generator"
)

type options struct {
	endpoints []string
	signals   []string
	rate      float64 // records a second, over all endpoints and signals
	batch     int     // records a request
	duration  time.Duration
	generator generator.Config
}

func main() {
	opts, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	sent, err := run(ctx, opts)
	fmt.Println(sent)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	endpoints := flags.String("endpoint", "localhost:4317", "OTLP gRPC `addresses`, separated by commas; requests are dealt in turn")
	signals := flags.String("signals", "logs", "what to send: logs, traces or logs,traces; requests alternate")
	flags.Float64Var(&opts.rate, "rate", 2000, "records a second in all")
	flags.IntVar(&opts.batch, "batch", 0, "records a request; 0: a tenth of a second's, at most 1000")
	flags.DurationVar(&opts.duration, "duration", 0, "how long to send; 0: until stopped")
	flags.IntVar(&opts.generator.Keys, "keys", 100000, "number of tenants, and of client addresses")
	flags.Float64Var(&opts.generator.Exponent, "zipf", 1.01, "exponent of Zipf's law; 0: uniform")
	flags.IntVar(&opts.generator.Regions, "regions", 8, "number of cloud regions")
	flags.Uint64Var(&opts.generator.Seed, "seed", 1, "seed of all that is drawn")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	opts.endpoints = strings.Split(*endpoints, ",")
	opts.signals = strings.Split(*signals, ",")
	for _, s := range opts.signals {
		if s != "logs" && s != "traces" {
			return opts, fmt.Errorf("signals: %q is neither logs nor traces", s)
		}
	}
	if !(opts.rate > 0) || opts.rate > 1e9 {
		return opts, fmt.Errorf("rate: %v is not from above 0 to 1e9", opts.rate)
	}
	if opts.batch < 0 || opts.batch > 100000 {
		return opts, fmt.Errorf("batch: %d is not from 0 to 100000", opts.batch)
	}
	if opts.batch == 0 {
		opts.batch = min(1000, max(1, int(opts.rate/10)))
	}
	return opts, nil
}
