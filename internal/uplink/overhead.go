package uplink

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otel-topk/collector/internal/rule"
	"github.com/otel-topk/collector/internal/wire"
)

// Overhead is how many bytes a state of d takes in a request beside its summary and the name of its group, at most. An error says why
// the definition may not travel.
func Overhead(d *rule.Definition) (int, error) {
	s := wire.State{Epoch: wire.Epoch{1}, Rule: d, Groups: 1, Shard: strings.Repeat("x", wire.MaxShardBytes), Encoded: []byte{}}
	if d.Grouped() {
		s.Group.Scope = rule.ScopeMissing
	}
	return wire.AppendState(plog.NewLogs(), &s)
}
