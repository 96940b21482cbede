package topkexporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/collector/config/configopaque"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otel-topk/collector/internal/archive"
	"github.com/otel-topk/collector/internal/recount"
	"github.com/otel-topk/collector/internal/rule"
)

// RecountConfig turns on exact counts of archived records.
type RecountConfig struct {
	// Archive is where the parquet exporters write: file:///folder, or a bucket as s3://name?region=…, gs://name, azblob://name.
	// Required. Exact tables are written beside the records, under tables/ and lists/.
	Archive string `mapstructure:"archive"`

	// Rules that may be recounted, as the processors have them: ${file:rules.yaml} in both. At least one.
	Rules []rule.Config `mapstructure:"rules"`

	// Seed of the processors: part of a rule's fingerprint, and the key of pseudonyms. Default "".
	Seed configopaque.String `mapstructure:"seed"`

	// Directory that exists, for what is spilled to disk while counting, removed whatever happens. Default "": the system's for
	// temporary files.
	Directory string `mapstructure:"directory"`

	// MemoryLimit of one count in bytes, at least 16 MiB; beyond it, it spills. Default 512 MiB. Beside jobs one hour at a time
	// is closed, under the same limit.
	MemoryLimit int64 `mapstructure:"memory_limit"`

	// MaxRange of one job, 1h to 8760h. Default 24h.
	MaxRange time.Duration `mapstructure:"max_range"`

	// MaxJobs that run at once, 1 to 64. Default 1.
	MaxJobs int `mapstructure:"max_jobs"`

	// MaxWaiting jobs beside them, 0 to 10000; one more is refused with 429. Default 16.
	MaxWaiting int `mapstructure:"max_waiting"`

	// KeepJobs is how many jobs that have ended are kept with their results, the newest, 1 to 100000. Default 1000.
	KeepJobs int `mapstructure:"keep_jobs"`

	// Grace is how long after its end an hour is closed: counted exactly and audited, 0 to 24h. It must be longer than the parquet
	// exporters keep records back. Default 15m.
	Grace time.Duration `mapstructure:"grace"`

	// KeepTables is how long hour and day tables are kept, 24h to 876000h. Default 17520h, two years.
	KeepTables time.Duration `mapstructure:"keep_tables"`

	// SkipDamaged leaves damaged and foreign files out of counts and names them there; else they fail the count. Default false.
	SkipDamaged bool `mapstructure:"skip_damaged"`
}

// Unmarshal says what is meant where rules is the name of a file.
func (c *RecountConfig) Unmarshal(conf *confmap.Conf) error {
	if name, ok := conf.Get("rules").(string); ok {
		return fmt.Errorf("rules: %q is no list; the rules of a file are ${file:%s}", name, name)
	}
	return conf.Unmarshal(c)
}

func newDefaultRecount() RecountConfig {
	return RecountConfig{
		MemoryLimit: 512 << 20,
		MaxRange:    24 * time.Hour,
		MaxJobs:     1,
		MaxWaiting:  16,
		KeepJobs:    1000,
		Grace:       15 * time.Minute,
		KeepTables:  17520 * time.Hour,
	}
}

// counting is what every count is given.
func (c *RecountConfig) counting() recount.Options {
	return recount.Options{Memory: c.MemoryLimit, Directory: c.Directory, SkipDamaged: c.SkipDamaged}
}

// problems are all there are, each by its YAML key below recount.
func (c *RecountConfig) problems() []error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := c.checkArchive(); err != nil {
		refuse("recount.archive: %w", err)
	}
	if len(c.Rules) == 0 {
		refuse("recount.rules: none; at least one is needed, as the processors have it")
	}
	names := map[string]int{}
	for i := range c.Rules {
		r := &c.Rules[i]
		for _, err := range each(r.Validate(string(c.Seed))) {
			refuse("recount.rules[%d].%w", i, err)
		}
		if first, taken := names[r.Name]; taken && r.Name != "" {
			refuse("recount.rules[%d].name: %q is the name of recount.rules[%d] too", i, r.Name, first)
			continue
		}
		names[r.Name] = i
	}
	if c.MemoryLimit < recount.MinMemory {
		refuse("recount.memory_limit: %d is not allowed; allowed: %d bytes or more", c.MemoryLimit, recount.MinMemory)
	}
	for _, limit := range []struct {
		key                string
		value, least, most int
	}{
		{"max_jobs", c.MaxJobs, 1, 64},
		{"max_waiting", c.MaxWaiting, 0, 10_000},
		{"keep_jobs", c.KeepJobs, 1, 100_000},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			refuse("recount.%s: %d is out of range; allowed: %d to %d", limit.key, limit.value, limit.least, limit.most)
		}
	}
	for _, limit := range []struct {
		key                string
		value, least, most time.Duration
	}{
		{"max_range", c.MaxRange, time.Hour, 8760 * time.Hour},
		{"grace", c.Grace, 0, 24 * time.Hour},
		{"keep_tables", c.KeepTables, 24 * time.Hour, 876_000 * time.Hour},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			refuse("recount.%s: %s is out of range; allowed: %s to %s", limit.key, hours(limit.value), hours(limit.least), hours(limit.most))
		}
	}
	return problems
}

// hours is d as people write it in a configuration.
func hours(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return d.String()
}

// each is the errors that err joins, or err itself.
func each(err error) []error {
	switch joined, ok := err.(interface{ Unwrap() []error }); {
	case err == nil:
		return nil
	case ok:
		return joined.Unwrap()
	}
	return []error{err}
}

// checkArchive says what is wrong with the text of Archive. It does not look whether the archive is there.
func (c *RecountConfig) checkArchive() error {
	if c.Archive == "" {
		return errors.New("is required: file:///folder, or a bucket as s3://name, gs://name or azblob://name")
	}
	s, err := archive.OpenStore(context.Background(), c.Archive)
	if err != nil {
		return err
	}
	return s.Close()
}

// checkDirectory says whether what is spilled has a place.
func (c *RecountConfig) checkDirectory() error {
	if c.Directory == "" {
		return nil
	}
	switch info, err := os.Stat(c.Directory); {
	case err != nil:
		return fmt.Errorf("recount.directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("recount.directory: %q is no directory", c.Directory)
	}
	return nil
}
