package storagecheckextension

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/extension/storagecheckextension/internal/metadata"
)

const (
	asideSuffix = ".damaged"
	lockTimeout = time.Second
)

// stored are the names that file_storage gives to the files of components.
var stored = regexp.MustCompile(`^(receiver|processor|exporter|extension|connector)_[A-Za-z0-9_~-]*$`)

// check is the extension. It has done its work when it has started, which is before any receiver, processor or exporter opens a file.
type check struct {
	directory string
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
}

// Start checks every file of the directory. Nothing that it finds keeps the collector from starting.
func (c *check) Start(ctx context.Context, _ component.Host) error {
	entries, err := os.ReadDir(c.directory)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // not yet made
			c.logger.Warn("Storage files are not checked", zap.Error(err))
		}
		return nil
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && stored.MatchString(entry.Name()) {
			c.file(ctx, filepath.Join(c.directory, entry.Name()))
		}
	}
	return nil
}

// Shutdown has nothing to end but the metric.
func (c *check) Shutdown(context.Context) error {
	c.telemetry.Shutdown()
	return nil
}

// file sets aside a damaged one.
func (c *check) file(ctx context.Context, path string) {
	damage, err := inspect(path)
	switch {
	case err != nil:
		c.logger.Warn("A storage file is not checked", zap.String("file", path), zap.Error(err))
	case damage != nil:
		c.telemetry.ExtensionStorageCheckDamaged.Add(ctx, 1)
		if err := os.Rename(path, path+asideSuffix); err != nil {
			c.logger.Error("A storage file is damaged, and cannot be set aside", zap.String("file", path), zap.NamedError("damage", damage), zap.Error(err))
			return
		}
		c.logger.Error("A storage file is damaged and was set aside; its component begins anew, and what it had stored is lost",
			zap.String("file", path), zap.String("now", path+asideSuffix), zap.NamedError("damage", damage))
	}
}

// inspect a file. What is wrong with its content is damage; err says why that is not known: another process has it, say.
func inspect(path string) (damage, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 { // an empty file becomes a new database
		return nil, err
	}
	// Opened for reading, bbolt looks at no more than the first two pages, and nobody writes as long.
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
	var errno syscall.Errno
	switch {
	case errors.Is(err, berrors.ErrTimeout) || errors.As(err, &errno):
		return nil, err
	case err != nil:
		return err, nil
	}
	defer db.Close()
	return checkPages(file, info.Size()), nil
}
