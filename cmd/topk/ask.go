package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
)

// maxK is the longest list of a recount: exact lists have no end of their own.
const maxK = 1_000_000

// ask reads the flags. The error joins all that is wrong with them.
func (f *recountFlags) ask(r *rule.Rule, given func(flag string) bool) (*asked, error) {
	a := &asked{question: recount.Question{Rule: r}, k: f.k, output: f.output}
	d := r.Definition()
	var problems []error
	problem := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if slices.Contains(d.Signals, rule.SignalMetrics) {
		problem(fmt.Errorf("--rule: %s counts data points, which are not archived", d.Name))
	}
	var err error
	a.question.From, err = momentOf("--from", f.from)
	problem(err)
	a.question.To, err = momentOf("--to", f.to)
	problem(err)
	if len(problems) == 0 && !a.question.From.Before(a.question.To) {
		problem(fmt.Errorf("--to: %s is not after --from %s", f.to, f.from))
	}
	a.question.Group, err = f.list(d, given("group"))
	problem(err)
	problem(f.ofKeys(d, a, given("k")))
	a.options.Memory, err = bytesOf("--memory-limit", f.memory)
	problem(err)
	if err == nil && a.options.Memory < recount.MinMemory {
		problem(fmt.Errorf("--memory-limit: %s is less than %d bytes (16MiB)", f.memory, recount.MinMemory))
	}
	problem(isFolder("--directory", f.directory))
	a.options.Directory, a.options.SkipDamaged = f.directory, f.skipDamaged
	problem(checkOutput(f.output))
	return a, errors.Join(problems...)
}

// list that is asked for; nil: all.
func (f *recountFlags) list(d *rule.Definition, grouped bool) (*rule.Group, error) {
	switch {
	case grouped && f.scope != "" && f.scope != "group":
		return nil, fmt.Errorf("--group: does not go with --scope %s", f.scope)
	case grouped:
		if !d.Grouped() {
			return nil, fmt.Errorf("--group: rule %s has no group_by", d.Name)
		}
		g := d.GroupOf(f.group)
		return &g, nil
	}
	switch f.scope {
	case "", "global":
		return new(rule.Group), nil
	case "missing", "all":
		if !d.Grouped() {
			return nil, fmt.Errorf("--scope: rule %s has no group_by; allowed: global", d.Name)
		}
		if f.scope == "all" {
			return nil, nil
		}
		return &rule.Group{Scope: rule.ScopeMissing}, nil
	default:
		return nil, fmt.Errorf("--scope: %q is not one of global, missing, all; a group's list is asked for by --group", f.scope)
	}
}

// ofKeys reads --key and --k.
func (f *recountFlags) ofKeys(d *rule.Definition, a *asked, k bool) error {
	if k && f.keys != nil {
		return fmt.Errorf("--k: does not go with --key")
	}
	if f.k < 1 || f.k > maxK {
		return fmt.Errorf("--k: %d is not in 1..%d", f.k, maxK)
	}
	for _, text := range f.keys {
		parts := []string{text}
		if len(d.Key) > 1 {
			parts = nil
			if err := json.Unmarshal([]byte(text), &parts); err != nil || len(parts) != len(d.Key) {
				return fmt.Errorf("--key: %q is no JSON array of %d texts, the parts of the key of rule %s", text, len(d.Key), d.Name)
			}
		}
		if key := d.KeyOf(parts...); !slices.Contains(a.question.Keys, key) {
			a.question.Keys = append(a.question.Keys, key)
		}
	}
	return nil
}

// momentOf reads a time.
func momentOf(flag, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse(time.DateOnly, text) // its midnight, UTC
	}
	if err == nil {
		if t.Year() < 1970 || t.Year() > 2261 {
			return t, fmt.Errorf("%s: %s is not in the years 1970 to 2261", flag, text)
		}
		return t.UTC(), nil
	}
	if s, err := strconv.ParseInt(text, 10, 64); err == nil && s >= 0 && s < math.MaxInt64/int64(time.Second) {
		return time.Unix(s, 0).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%s: %q is neither a time such as 2026-01-02T15:00:00Z, nor a day, nor seconds since 1970", flag, text)
}

// bytesOf reads a size.
func bytesOf(flag, text string) (int64, error) {
	number, unit := text, 0
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>unit {
		return 0, fmt.Errorf("%s: %q is no size in bytes, KiB, MiB or GiB, such as 512MiB", flag, text)
	}
	return n << unit, nil
}
