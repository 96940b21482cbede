package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
)

// recountFlags are those of topk recount, as they are written.
type recountFlags struct {
	archive, rules, rule string
	from, to             string
	group, scope         string
	keys                 []string
	k                    int
	memory               string
	directory            string
	skipDamaged          bool
	grace                time.Duration
	open                 bool
	seed                 string
	output               string
}

// seedVariable names the environment variable that --seed defaults to: arguments are seen by all users of a machine.
const seedVariable = "TOPK_SEED"

// readingBytes is what Go may take beside the budget of the aggregation before it collects garbage more often.
const readingBytes = 64 << 20

func newRecount() *cobra.Command {
	var f recountFlags
	cmd := &cobra.Command{
		Use:   "recount --archive URL --rules FILE --rule NAME --from TIME --to TIME",
		Short: "Count a rule exactly from archived records",
		Long: `Count a rule exactly from the records that parquet exporters wrote to an archive.

The list of the heaviest keys, or the counts of the keys that are asked for, are printed for records whose event time is from
--from up to and without --to. What counts is decided by the rule as processors have it: --rules takes the very file.

An hour that is still open, up to --grace after its end, is refused: some of its records may not be archived yet.

Exit codes: 0 counted; 1 failed, or every file was left out; 2 wrong usage, or an hour that is open; 3 the archive has no file in the
range.`,
		Example: `  topk recount --archive file:///var/lib/otelcol/archive --rules rules.yaml --rule tenants \
    --from 2026-01-02T15:00:00Z --to 2026-01-02T16:00:00Z
  topk recount --archive 's3://telemetry?region=eu-west-1' --rules rules.yaml --rule tenants \
    --from 2026-01-02T00:00:00Z --to 2026-01-03T00:00:00Z --group eu-west-1 --key acme --key example --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("argument %q: there are only flags, see topk recount --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runRecount(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.archive, "archive", "", "`URL` of the archive: file:///folder, s3://bucket?region=…, gs://bucket, azblob://container")
	flags.StringVar(&f.rules, "rules", "", "YAML `file` with the list of rules that the processors count, ${env:…} and all")
	flags.StringVar(&f.rule, "rule", "", "`name` of the rule")
	flags.StringVar(&f.from, "from", "", "first `moment`, as 2026-01-02T15:00:00Z, 2026-01-02 (midnight UTC) or in seconds since 1970")
	flags.StringVar(&f.to, "to", "", "`moment` after the last, likewise")
	flags.StringVar(&f.group, "group", "", "count the list of this `group`")
	flags.StringVar(&f.scope, "scope", "", "lists to count: global, missing (records without the group), all (global, and each group's) (default global)")
	flags.StringArrayVar(&f.keys, "key", nil, "count this `key`; may be repeated; a composite one is a JSON array of its parts (default: the heaviest)")
	flags.IntVarP(&f.k, "k", "k", 10, "keys in a list, 1 to 1000000; not with --key")
	flags.StringVar(&f.memory, "memory-limit", "512MiB", "memory of the aggregation, 16MiB or more, in bytes, KiB, MiB or GiB; beyond it, it spills to disk")
	flags.StringVar(&f.directory, "directory", "", "`directory` for what is spilled (default: the system's for temporary files)")
	flags.BoolVar(&f.skipDamaged, "skip-damaged", false, "leave damaged and foreign files out and name them, instead of failing")
	flags.DurationVar(&f.grace, "grace", defaultGrace, "`time` after which an hour that ended is closed, 0s to 24h: longer than exporters keep segments")
	flags.BoolVar(&f.open, "open", false, "count hours that are not closed too, as far as they are archived; the output says INCOMPLETE")
	flags.StringVar(&f.seed, "seed", "", "`seed` of the processors (default: $"+seedVariable+")")
	addOutput(flags, &f.output)
	for _, name := range []string{"archive", "rules", "rule", "from", "to"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // there is such a flag
		}
	}
	return cmd
}

func runRecount(cmd *cobra.Command, f *recountFlags) error {
	seed := cmp.Or(f.seed, os.Getenv(seedVariable))
	r, err := findRule(cmd.Context(), f.rules, f.rule, seed)
	if err != nil {
		return err
	}
	a, err := f.ask(r, cmd.Flags().Changed)
	if err != nil {
		return err
	}
	if err := f.closing(a, time.Now()); err != nil {
		return err
	}
	store, err := archive.OpenStore(cmd.Context(), f.archive)
	if err != nil {
		return fmt.Errorf("--archive: %w", err)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(a.options.Memory/8*7 + readingBytes)
	}
	meter := newMeter(cmd.ErrOrStderr())
	a.options.Progress = meter.show
	err = answer(cmd.Context(), store, a, func(c *recount.Counts) error {
		meter.clear()
		return a.print(cmd.OutOrStdout(), c)
	})
	meter.clear()
	return errors.Join(err, store.Close())
}

// answer counts and lets use have the counts. Its errors are failures.
func answer(ctx context.Context, store *archive.Store, a *asked, use func(*recount.Counts) error) error {
	counts, err := recount.Count(ctx, store, a.question, a.options)
	if err != nil {
		return failure{a.blamed(ctx, store, err)}
	}
	if err := errors.Join(use(counts), counts.Close()); err != nil {
		return failure{err}
	}
	return nil
}

// asked is what the flags ask for.
type asked struct {
	question recount.Question
	options  recount.Options
	k        int
	output   string
	openFrom time.Time // the first hour of the range that is not closed; zero: all are
}

func (a *asked) definition() *rule.Definition { return a.question.Rule.Definition() }
