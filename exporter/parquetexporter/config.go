package parquetexporter

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otel-topk/collector/internal/archive"
)

// Config of the exporter. All exporters made from one configuration share one folder of segments.
type Config struct {
	// Archive is where the files go: file:///folder, or a bucket as s3://name?region=…, gs://name, azblob://name. Required.
	Archive string `mapstructure:"archive"`

	// Directory for segments: what was answered and is not archived yet. Required, an absolute path. It must outlast the process, belongs
	// to this exporter alone, and lies neither in the archive's folder nor around it.
	Directory string `mapstructure:"directory"`

	// Shard is part of the names of files, and stands in them, up to 256 bytes. Default "": the collector's service.instance.id.
	Shard string `mapstructure:"shard"`

	// Columns are attributes that get a column of their own: log.attributes["tenant.id"], or span., scope. or resource. in place of
	// log. Default none: all attributes lie in maps.
	Columns []string `mapstructure:"columns"`

	// Fsync: a request is answered when it would survive a power cut. Default true. False: the end of the process only.
	Fsync bool `mapstructure:"fsync"`

	// Segment says when a segment ends and is archived.
	Segment SegmentConfig `mapstructure:"segment"`

	// MaxPending is how many bytes of segments may wait for the archive, at least segment.max_size. Default 16 GiB. Beyond it
	// requests are refused, and their senders told to come again.
	MaxPending int64 `mapstructure:"max_pending"`

	// Keep is how long files are kept after the end of their hour, in whole hours from 1h to 876000h. Default 2160h, 90 days.
	// 0 is refused.
	Keep time.Duration `mapstructure:"keep"`

	// Timeout is the most that writing one file may take, 1s to 24h. Default 10m. 0 is refused.
	Timeout time.Duration `mapstructure:"timeout"`

	// Retry says when the archive is tried again after it failed; that goes on for ever.
	Retry RetryConfig `mapstructure:"retry"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// SegmentConfig says when a segment ends: at either of its limits.
type SegmentConfig struct {
	// MaxSize in bytes as they lie on disk (under zstd), 4096 or more. Default 256 MiB. 0 is refused.
	MaxSize int64 `mapstructure:"max_size"`

	// MaxAge is the time since its first request, 10ms to 24h. Default 5m. 0 is refused.
	MaxAge time.Duration `mapstructure:"max_age"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// RetryConfig is a back-off: the interval doubles from try to try.
type RetryConfig struct {
	// InitialInterval after the first failure, 10ms to 1h. Default 1s. 0 is refused.
	InitialInterval time.Duration `mapstructure:"initial_interval"`

	// MaxInterval is where the interval grows no more, InitialInterval to 1h. Default 1m. 0 is refused.
	MaxInterval time.Duration `mapstructure:"max_interval"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var (
	_ confmap.Validator   = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

// Limits of the configuration.
const (
	maxShardBytes = 256
	minSize       = 4096
	minAge        = 10 * time.Millisecond
	maxAge        = 24 * time.Hour
	longestKeep   = 876_000 * time.Hour
	minTimeout    = time.Second
	maxTimeout    = 24 * time.Hour
	minInterval   = 10 * time.Millisecond
	maxInterval   = time.Hour
)

func createDefaultConfig() component.Config {
	return &Config{
		Fsync:      true,
		Segment:    SegmentConfig{MaxSize: 256 << 20, MaxAge: 5 * time.Minute},
		MaxPending: 16 << 30,
		Keep:       2160 * time.Hour,
		Timeout:    10 * time.Minute,
		Retry:      RetryConfig{InitialInterval: time.Second, MaxInterval: time.Minute},
	}
}

// Unmarshal refuses what other exporters have and this one does instead.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	var problems []error
	for key, reason := range map[string]string{
		"sending_queue":    "the segments are the queue, and unlike one in memory they outlast a crash",
		"retry_on_failure": "what is refused is for its sender to send again, and how the archive is tried again is said by retry",
	} {
		if conf.IsSet(key) {
			problems = append(problems, fmt.Errorf("%s: not allowed: %s", key, reason))
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	return conf.Unmarshal(c)
}

// Validate returns all problems, each by its YAML key.
func (c *Config) Validate() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	within := func(key string, d, low, high time.Duration) {
		if d < low || d > high {
			refuse("%s: %v, allowed is %v to %v", key, d, low, high)
		}
	}

	if c.Archive == "" {
		refuse("archive: none; it is where the files go, as file:///var/lib/otelcol/archive or s3://bucket?region=eu-west-1")
	} else if store, err := archive.OpenStore(context.Background(), c.Archive); err != nil {
		refuse("archive: %w", err)
	} else if err := store.Close(); err != nil {
		refuse("archive: %w", err)
	}
	switch folder, isFolder := folderOf(c.Archive); {
	case c.Directory == "":
		refuse("directory: none; it is where requests lie until they are archived, on a disk that outlasts the process")
	case !filepath.IsAbs(c.Directory):
		refuse("directory: %q depends on where the process starts, allowed is an absolute path, as /var/lib/otelcol/segments", c.Directory)
	case isFolder && (inside(c.Directory, folder) || inside(folder, c.Directory)):
		refuse("directory: %s and archive: %s, allowed are folders of which neither is in the other", c.Directory, folder)
	}
	if len(c.Shard) > maxShardBytes {
		refuse("shard: %d bytes, allowed are %d", len(c.Shard), maxShardBytes)
	}
	if _, err := archive.ParseColumns(c.Columns); err != nil {
		problems = append(problems, err)
	}
	if c.Segment.MaxSize < minSize {
		refuse("segment.max_size: %d, allowed is %d bytes or more", c.Segment.MaxSize, minSize)
	}
	within("segment.max_age", c.Segment.MaxAge, minAge, maxAge)
	if c.MaxPending < c.Segment.MaxSize {
		refuse("max_pending: %d, allowed is segment.max_size (%d bytes) or more", c.MaxPending, c.Segment.MaxSize)
	}
	if c.Keep < time.Hour || c.Keep > longestKeep || c.Keep%time.Hour != 0 {
		refuse("keep: %v, allowed are whole hours from 1h to %dh", c.Keep, longestKeep/time.Hour)
	}
	within("timeout", c.Timeout, minTimeout, maxTimeout)
	within("retry.initial_interval", c.Retry.InitialInterval, minInterval, maxInterval)
	within("retry.max_interval", c.Retry.MaxInterval, max(c.Retry.InitialInterval, minInterval), maxInterval)
	return errors.Join(problems...)
}
