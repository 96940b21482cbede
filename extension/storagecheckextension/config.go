package storagecheckextension

import (
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
)

// Config of the extension.
type Config struct {
	// Directory is the one that the file_storage extension has. Default /var/lib/otelcol/file_storage, as there. "" is refused.
	Directory string `mapstructure:"directory"`

	// prevent unkeyed literal initialization
	_ struct{}
}

var _ confmap.Validator = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{Directory: "/var/lib/otelcol/file_storage"}
}

// Validate says what is wrong.
func (c *Config) Validate() error {
	if c.Directory == "" {
		return errors.New(`directory: "" is not allowed; name the directory of the file_storage extension`)
	}
	return nil
}
