package wire

import (
	"time"

	"github.com/otel-topk/collector/internal/wire/wirepb"
)

// appendBelow adds to m the gateways that r came through, and what is below: shards that several rules miss are named once.
func appendBelow(m *wirepb.Report, r *Report) {
	for i := range r.Through {
		m.Through = append(m.Through, r.Through[i][:])
	}
	known := map[SilentShard]uint32{}
	for i := range r.Rules {
		b := r.Rules[i].Below
		if b == nil {
			continue
		}
		of := &wirepb.Below{Reporting: uint32(b.Reporting), Silent: uint32(b.Silent), Gone: uint32(b.Gone)}
		for _, s := range b.SilentShards[:min(len(b.SilentShards), MaxSilentShards)] {
			at, ok := known[s]
			if !ok {
				if len(known) == MaxSilentBelow {
					break
				}
				at = uint32(len(known))
				known[s] = at
				m.SilentShards = append(m.SilentShards, &wirepb.SilentShard{Shard: label(s.Shard), Since: s.Since.UnixNano()})
			}
			of.SilentShards = append(of.SilentShards, at)
		}
		m.Rules[i].Below = of
	}
}

func decodeSilent(all []*wirepb.SilentShard) ([]SilentShard, error) {
	silent := make([]SilentShard, len(all))
	for i, s := range all {
		if len(s.Shard) > MaxShardBytes {
			return nil, tooLarge("silent_shards.shard", len(s.Shard), MaxShardBytes)
		}
		silent[i] = SilentShard{Shard: s.Shard, Since: time.Unix(0, s.Since).UTC()}
	}
	return silent, nil
}

func decodeBelow(of *wirepb.Below, silent []SilentShard) (*Below, error) {
	if of == nil {
		return nil, nil
	}
	for _, n := range [...]uint32{of.Reporting, of.Silent, of.Gone} {
		if n > MaxBelow {
			return nil, outside("rules.below", int(n), 0, MaxBelow)
		}
	}
	if n := len(of.SilentShards); n > MaxSilentShards {
		return nil, outside("rules.below.silent_shards", n, 0, MaxSilentShards)
	}
	b := &Below{Reporting: int(of.Reporting), Silent: int(of.Silent), Gone: int(of.Gone)}
	for _, at := range of.SilentShards {
		if int(at) >= len(silent) {
			return nil, refuse(ReasonInvalid, "rules.below.silent_shards: %d, the report names %d", at, len(silent))
		}
		b.SilentShards = append(b.SilentShards, silent[at])
	}
	return b, nil
}
