// Command quickstart starts a collector with a sample stream, waits for its first full list, prints it with the URLs to
// go on with, and keeps all running until it is stopped. `make run` calls it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

type options struct {
	collector string   // binary
	configs   []string // merged by the collector, the last wins
	loadgen   string   // binary; "": no stream
	rate      string   // records a second
	api, otlp string   // addresses that the configuration names
	log       string   // file for the output of both
	patience  time.Duration
}

func main() {
	opts, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	// SIGHUP too: a closed terminal must not leave the collector running.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.StringVar(&opts.collector, "collector", "bin/otelcol-topk", "the collector's `binary`")
	flags.Func("config", "`location` of its configuration; may be repeated, the last wins", func(location string) error {
		opts.configs = append(opts.configs, location)
		return nil
	})
	flags.StringVar(&opts.loadgen, "loadgen", "", "the load generator's `binary`; empty: no sample stream")
	flags.StringVar(&opts.rate, "rate", "2000", "`records` a second of the sample stream")
	flags.StringVar(&opts.api, "api", "localhost:7070", "`address` of the API in the configuration")
	flags.StringVar(&opts.otlp, "otlp", "localhost:4317", "`address` of the OTLP gRPC receiver in the configuration")
	flags.StringVar(&opts.log, "log", "_build/quickstart.log", "`file` for what the collector and the generator print")
	flags.DurationVar(&opts.patience, "patience", 30*time.Second, "how long to wait for the first list")
	return opts, flags.Parse(args)
}

// run returns nil when ctx ends after the list was shown.
func run(ctx context.Context, opts options, out io.Writer) error {
	for _, addr := range []string{opts.api, opts.otlp} {
		if err := free(addr); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(opts.log), 0o755); err != nil {
		return err
	}
	logFile, err := os.Create(opts.log)
	if err != nil {
		return err
	}
	defer logFile.Close()

	var args []string
	for _, location := range opts.configs {
		args = append(args, "--config", location)
	}
	collector, err := start(logFile, opts.collector, args...)
	if err != nil {
		return err
	}
	defer collector.stop()
	if opts.loadgen != "" {
		loadgen, err := start(logFile, opts.loadgen, "-endpoint", opts.otlp, "-rate", opts.rate)
		if err != nil {
			return err
		}
		defer loadgen.stop()
	}

	list, err := await(ctx, collector, opts)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return explain(err, opts.log)
	}
	list.print(out)
	fmt.Fprintf(out, hints, opts.api, opts.otlp, opts.log)

	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "\nStopping.")
		return nil
	case <-collector.ended:
		return explain(errors.New("the collector ended"), opts.log)
	}
}

const hints = `
  web page      http://%[1]s/
  this list     curl '%[1]s/v1/trending?window=5m&k=10'
  of a region   curl '%[1]s/v1/trending?window=5m&k=10&group=eu-west-1'
  of one key    curl '%[1]s/v1/keys/tenant-1/count?window=5m'
  all calls     curl '%[1]s/openapi.yaml'
  your logs     OTLP gRPC to %[2]s; the key is the attribute tenant.id, the group cloud.region of the resource
  its log       %[3]s

Ctrl-C stops it.
`

// free says whether somebody else listens on addr.
func free(addr string) error {
	listener, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use: stop the program that listens there, perhaps another `make run`", addr)
	}
	if err != nil {
		return err
	}
	return listener.Close()
}

// await asks for the list until it is full: ten items, or without a stream any answer of a collector that is ready.
func await(ctx context.Context, collector *process, opts options) (*list, error) {
	ctx, cancel := context.WithTimeout(ctx, opts.patience)
	defer cancel()
	url := "http://" + opts.api + "/v1/trending?window=5m&k=10"
	var last error
	for {
		l, err := fetch(ctx, url)
		switch {
		case err != nil:
			last = err
		case opts.loadgen != "" && len(l.Items) == 10, opts.loadgen == "" && ready(opts.log):
			return l, nil
		case opts.loadgen == "":
			last = errors.New("the collector is not ready")
		default:
			last = fmt.Errorf("the list has %d of 10 items", len(l.Items))
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no list after %s: %w", opts.patience, last)
		case <-collector.ended:
			return nil, errors.New("the collector ended before its first list")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// ready says whether all parts of the collector have started: it serves lists before it receives.
func ready(log string) bool {
	text, err := os.ReadFile(log)
	return err == nil && bytes.Contains(text, []byte("Everything is ready."))
}

var inUse = regexp.MustCompile(`listen \w+ \S+ bind: address already in use`)

// explain adds to err what the log says of its cause.
func explain(err error, log string) error {
	text, readErr := os.ReadFile(log)
	if readErr != nil {
		return err
	}
	if busy := inUse.Find(text); busy != nil {
		return fmt.Errorf("%w; a port it needs is in use: %s", err, busy)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%w; the end of %s:\n%s", err, log, strings.Join(lines[max(0, len(lines)-5):], "\n"))
}

// client gives up on a single call early, so that a hanging server shows in the patience and not as silence.
var client = &http.Client{Timeout: 5 * time.Second}
