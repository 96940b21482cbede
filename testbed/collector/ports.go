package collector

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ports are free addresses of this machine by name. Collectors that talk to each other share one.
type Ports struct{ addresses map[string]string }

// NewPorts knows no address yet.
func NewPorts() *Ports { return &Ports{addresses: make(map[string]string)} }

// Address called name; the first call finds a free one.
func (p *Ports) Address(t testing.TB, name string) string {
	address, ok := p.addresses[name]
	if !ok {
		var err error
		address, err = freeAddress()
		require.NoError(t, err)
		p.addresses[name] = address
	}
	return address
}

// Share makes the address called name here the one called theirs of other.
func (p *Ports) Share(t testing.TB, name string, other *Ports, theirs string) {
	p.addresses[name] = other.Address(t, theirs)
}

var placeholder = regexp.MustCompile(`P?<[a-z0-9_]+>`)

// Expand replaces each <name> in text by the address of that name, save the named groups of regular expressions, (?P<name>.
func (p *Ports) Expand(t testing.TB, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string {
		if name[0] == 'P' {
			return name
		}
		return p.Address(t, name[1:len(name)-1])
	})
}
