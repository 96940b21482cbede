package topkprocessor

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

// Partition stamps records with what they may be partitioned by. With it the processor changes the records of the rule's signals.
type Partition struct {
	// Rule is the name of one of rules, not of span events. Records that it counts are stamped with their key as it counts, others
	// leave as they came. Required. Where no gateway takes the rule, its records are stamped and not counted.
	Rule string `mapstructure:"rule"`

	// Attribute of the record that holds the key, or for a hot key key#0 to key#(salts-1), at random. Default "topk.partition". Empty
	// is refused.
	Attribute string `mapstructure:"attribute"`

	// HotShare of the records (of the weight, with Lists) from which on a key is hot, 0.001 to 1. Default 0.01. 0 is refused.
	HotShare float64 `mapstructure:"hot_share"`

	// Salts of a hot key, 1 to 64. Default 16. 1: keys stay whole, and none is looked for. 0 is refused.
	Salts int `mapstructure:"salts"`

	// Lists is where hot keys are read. Default none: they are found in what this process saw in the last minute.
	Lists configoptional.Optional[Lists] `mapstructure:"lists"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Lists is a topk exporter that serves the lists of the fleet.
type Lists struct {
	// ClientConfig has the endpoint, such as http://gateway:7070, required, and timeout, of one answer: default 5s, 0 is refused.
	confighttp.ClientConfig `mapstructure:",squash"`

	// Interval between two questions, 1s to 1m. Default 5s. 0 is refused.
	Interval time.Duration `mapstructure:"interval"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Limits of partition.
const (
	minHotShare     = 0.001
	maxSalts        = 64
	minListInterval = time.Second
	maxListInterval = time.Minute
)

func defaultPartition() configoptional.Optional[Partition] {
	client := confighttp.NewDefaultClientConfig()
	client.Timeout = 5 * time.Second
	return configoptional.Default(Partition{
		Attribute: "topk.partition",
		HotShare:  0.01,
		Salts:     16,
		Lists:     configoptional.Default(Lists{ClientConfig: client, Interval: 5 * time.Second}),
	})
}

// problems are all that is wrong with p, each by its YAML key.
func (p *Partition) problems(rules []Rule) (errs []error) {
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == p.Rule }); i < 0 {
		problem("rule: %q is the name of none of rules", p.Rule)
	} else if rules[i].CountsSpanEvents() {
		problem("rule: %q counts span events, which go where their span goes; a rule of spans is needed", p.Rule)
	}
	if p.Attribute == "" {
		problem("attribute: empty, the name of an attribute is needed")
	}
	if !(p.HotShare >= minHotShare && p.HotShare <= 1) {
		problem("hot_share: %v, allowed is %v to 1", p.HotShare, minHotShare)
	}
	if p.Salts < 1 || p.Salts > maxSalts {
		problem("salts: %d, allowed is 1 to %d", p.Salts, maxSalts)
	}
	if l := p.Lists.Get(); l != nil {
		if p.Salts == 1 {
			problem("lists: with salts: 1 no key is salted, and none is looked for")
		}
		for _, err := range each(l.problems()) {
			problem("lists.%w", err)
		}
	}
	return errs
}

func (l *Lists) problems() error {
	var errs []error
	if u, err := url.Parse(l.Endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		errs = append(errs, fmt.Errorf("endpoint: %q, allowed is a URL such as http://gateway:7070", l.Endpoint))
	} else if u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("endpoint: %q, allowed is a URL without a query, such as http://gateway:7070", l.Endpoint))
	}
	if l.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout: %v, more than 0s is needed", l.Timeout))
	}
	if l.Interval < minListInterval || l.Interval > maxListInterval {
		errs = append(errs, fmt.Errorf("interval: %v, allowed is %v to %v", l.Interval, minListInterval, maxListInterval))
	}
	return errors.Join(errs...)
}
