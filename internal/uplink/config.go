package uplink

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/config/configcompression"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
)

const defaultEndpoint = "localhost:7071"

// Gateway is one element of gateways: the configuration of an otlp_grpc exporter, and rules. Defaults that differ: endpoint
// localhost:7071, sending_queue and retry_on_failure off, compression zstd (a tenth of gzip's CPU on states), and no TLS where the
// endpoint is loopback and tls is not set.
type Gateway struct {
	Exporter `mapstructure:",squash"`

	// Rules are the names of those whose states this gateway gets. Default: none is written, and it gets all.
	Rules []string `mapstructure:"rules"`
}

// Exporter is the configuration of an otlp_grpc exporter. Gateway tells its problems.
type Exporter otlpexporter.Config

// Takes says whether the gateway gets the states of a rule.
func (g *Gateway) Takes(rule string) bool { return g.Rules == nil || slices.Contains(g.Rules, rule) }

// NewDefaultGateway is the gateway of the same machine.
func NewDefaultGateway() Gateway {
	cfg := otlpexporter.NewFactory().CreateDefaultConfig().(*otlpexporter.Config)
	cfg.QueueConfig = configoptional.Default(exporterhelper.NewDefaultQueueConfig()) // off, and whole where somebody writes it
	cfg.RetryConfig.Enabled = false
	cfg.ClientConfig.Endpoint = defaultEndpoint
	cfg.ClientConfig.Compression = configcompression.TypeZstd
	cfg.ClientConfig.TLS.Insecure = true
	return Gateway{Exporter: Exporter(*cfg)}
}

// Unmarshal starts each element of the list from the defaults.
func (g *Gateway) Unmarshal(conf *confmap.Conf) error {
	*g = NewDefaultGateway()
	g.ClientConfig.TLS.Insecure = false
	type plain Gateway // without this method
	if err := conf.Unmarshal((*plain)(g)); err != nil {
		return err
	}
	if !conf.IsSet("tls") && loopback(g.ClientConfig.Endpoint) {
		g.ClientConfig.TLS.Insecure = true
	}
	return nil
}

// Problems are all that is wrong with g, each by its YAML key.
func (g *Gateway) Problems() []error {
	var errs []error
	if err := (*otlpexporter.Config)(&g.Exporter).Validate(); err != nil {
		errs = append(errs, fmt.Errorf("endpoint: %w", err))
	}
	if g.Rules != nil && len(g.Rules) == 0 {
		errs = append(errs, errors.New("rules: empty, at least one is needed; without rules the gateway gets all"))
	}
	if g.QueueConfig.HasValue() {
		errs = append(errs, errors.New("sending_queue: not allowed: the state is the queue, a lost one is healed by the next"))
	}
	if t := g.TimeoutConfig.Timeout; t <= 0 {
		errs = append(errs, fmt.Errorf("timeout: %v, more than 0s is needed: a gateway that hangs would hold up the end of the collector", t))
	}
	if g.RetryConfig.Enabled {
		errs = append(errs, errors.New("retry_on_failure: not allowed: what is not answered is sent again in its newest state"))
	}
	return errs
}

// loopback says whether endpoint is this machine, by its text alone.
func loopback(endpoint string) bool {
	if _, after, ok := strings.Cut(endpoint, "://"); ok {
		endpoint = strings.TrimLeft(after, "/")
	}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		host = endpoint
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
