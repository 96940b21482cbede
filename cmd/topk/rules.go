package main

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/rule"
)

// findRule compiles the rule called name of those in file.
func findRule(ctx context.Context, file, name, seed string) (*rule.Rule, error) {
	rules, err := readRules(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("--rules: %w", err)
	}
	var names []string
	for i := range rules {
		if rules[i].Name == name {
			r, err := rule.New(rules[i], rule.SeedOf(seed), seed, component.TelemetrySettings{Logger: zap.NewNop()})
			if err != nil {
				return nil, fmt.Errorf("--rules: %s: rules[%d]: %w", file, i, err)
			}
			return r, nil
		}
		names = append(names, rules[i].Name)
	}
	return nil, fmt.Errorf("--rule: %q is not in %s; there are: %s", name, file, strings.Join(names, ", "))
}

// readRules reads the list in file as a collector reads `rules: ${file:…}`.
func readRules(ctx context.Context, file string) ([]rule.Config, error) {
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{
		URIs:              []string{"yaml:rules: ${file:" + file + "}"},
		ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory(), yamlprovider.NewFactory()},
		ProviderSettings:  confmap.ProviderSettings{Logger: zap.NewNop()},
	})
	if err != nil {
		return nil, err
	}
	conf, err := resolver.Resolve(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	var c struct {
		Rules []rule.Config `mapstructure:"rules"`
	}
	if _, ok := conf.Get("rules").([]any); !ok {
		return nil, fmt.Errorf("%s is no YAML list of rules%s", file, whereRules(conf))
	}
	if err := conf.Unmarshal(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c.Rules, resolver.Shutdown(ctx)
}

// whereRules says where in a file that holds more the list stands; "": it is not known.
func whereRules(conf *confmap.Conf) string {
	const own = "; put that list into a file of its own, and say rules: ${file:…} where it was"
	content, _ := conf.Get("rules").(map[string]any)
	if content["processors"] != nil {
		return ", but a collector's configuration: they are the list at processors::topk::rules" + own
	}
	if _, ok := content["rules"].([]any); ok {
		return ": they are the list at rules" + own
	}
	return ""
}
