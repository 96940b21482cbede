package topkexporter

import (
	"slices"

	"github.com/otel-topk/collector/internal/rule"
)

// reasonDefinition is the partial reason of a list that is not exact because recount.rules count by another definition than it.
const reasonDefinition = "exact_definition"

// differing are the fields of a rule in which two definitions count differently, by their names in the configuration. Where seeded
// is false the seed is not known.
func differing(a, b *rule.Definition, seeded bool) []string {
	var fields []string
	for _, field := range []struct {
		name string
		same bool
	}{
		{"signals", slices.Equal(slices.Sorted(slices.Values(a.Signals)), slices.Sorted(slices.Values(b.Signals)))},
		{"key", slices.Equal(a.Key, b.Key)},
		{"default", a.Default == b.Default || a.Default != nil && b.Default != nil && *a.Default == *b.Default},
		{"group_by", a.GroupBy == b.GroupBy},
		{"weight", a.Weight == b.Weight},
		{"weight_scale", a.WeightScale == b.WeightScale},
		{"conditions", slices.Equal(a.Conditions, b.Conditions)},
		{"time", a.Time == b.Time},
		{"max_key_bytes", a.MaxKeyBytes == b.MaxKeyBytes},
		{"accuracy.epsilon", a.Shape.Width == b.Shape.Width},
		{"accuracy.delta", a.Shape.Depth == b.Shape.Depth},
		{"seed", !seeded || a.Shape.Seed == b.Shape.Seed},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields
}

// checkDefinitions warns of each rule that is counted by another definition than recount.rules has, once as long as it is so.
func (h *handler) checkDefinitions() {
	c := h.store.catalog()
	for name, local := range h.recounts.definitions() {
		var fields []string
		if counted, seeded := h.counted(c, name); counted != nil {
			fields = differing(counted, local, seeded)
		}
		if len(fields) > 0 && !slices.Equal(fields, h.recounts.told[name]) {
			h.recounts.telemetry.definitionsDiffer(name, fields)
		}
		h.recounts.told[name] = fields
	}
}
