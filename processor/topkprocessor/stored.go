package topkprocessor

import (
	"context"
	"encoding/binary"
	"errors"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/uplink"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	finalVersion = 1
	floorVersion = 1

	finalsAtOnce = 8 << 20 // bytes of final states that are written together
)

// keep the final states of closed buckets, and the floor below which nothing of the journal counts any more, together. Called
// before pending has them, so that none is sent before it is set.
func (v *vault) keep(l *ledger, finals []*uplink.Final) {
	if v == nil || !v.recording.Load() {
		return
	}
	var change depot.Change
	err := change.Set(numbered(floorKey, uint64(l.index)), appendFloor(v.counter.epoch, l.floor.Load()))
	for _, f := range finals {
		if value, ok := v.encodeFinal(f); ok {
			err = errors.Join(err, change.Set(numbered(finalKey, f.ID), value))
		}
	}
	if err != nil {
		v.fail(err)
		return
	}
	for _, f := range finals {
		_, f.Stored = change.Get(numbered(finalKey, f.ID))
	}
	v.depot.Apply(&change)
}

// unstore a final state that no gateway waits for.
func (v *vault) unstore(f *uplink.Final) { v.depot.Delete(numbered(finalKey, f.ID)) }

// storeFinals that were not stored when their buckets closed, those of a bucket together.
func (v *vault) storeFinals(finals []*uplink.Final) error {
	for len(finals) > 0 {
		var values [][]byte
		for size := 0; len(values) < len(finals) && (size < finalsAtOnce || follows(finals[len(values)], finals[len(values)-1])); {
			value, _ := v.encodeFinal(finals[len(values)])
			values = append(values, value)
			size += len(value)
		}
		together := finals[:len(values)]
		var change depot.Change
		var err error
		v.counter.pending.Store(together, func(i int) bool {
			if values[i] == nil {
				return false
			}
			err = errors.Join(err, change.Set(numbered(finalKey, together[i].ID), values[i]))
			return true
		}, func() { v.depot.Apply(&change) })
		if err == nil {
			err = v.depot.Commit(context.Background())
		}
		if err != nil {
			v.counter.pending.Forget(together, func(f *uplink.Final) { v.depot.Forget(numbered(finalKey, f.ID)) })
			return err
		}
		finals = finals[len(values):]
	}
	return nil
}

// follows says whether both are of one bucket.
func follows(f, other *uplink.Final) bool {
	return f.State.Minute == other.State.Minute && f.State.Rule == other.State.Rule && f.State.Epoch == other.State.Epoch
}

// encodeFinal as it is stored: when it expires, and the body of the state under zstd.
func (v *vault) encodeFinal(f *uplink.Final) ([]byte, bool) {
	state := f.State
	encoded, err := f.Unpack(v.decoder)
	if err == nil {
		state.Encoded = encoded
		encoded, err = wire.EncodeState(&state)
	}
	if err != nil {
		v.counter.logger.DPanic("A final state does not encode", zap.Error(err))
		return nil, false
	}
	value := binary.LittleEndian.AppendUint64([]byte{finalVersion}, uint64(f.Expires))
	return v.counter.merger.encoder.EncodeAll(encoded, value), true
}

// decodeFinal is the inverse of encodeFinal.
func (v *vault) decodeFinal(value []byte, bodies *wire.Bodies) (*uplink.Final, error) {
	r := field.New(value)
	r.Version(finalVersion)
	expires := int64(r.Fixed64())
	if r.Broken() {
		return nil, errStored
	}
	body, err := v.decoder.DecodeAll(r.Rest(), nil)
	if err != nil {
		return nil, err
	}
	state, err := bodies.State(body)
	if err != nil {
		return nil, err
	}
	overhead, err := uplink.Overhead(state.Rule)
	if err != nil {
		return nil, err
	}
	f := &uplink.Final{
		State:    *state,
		Overhead: overhead,
		Packed:   v.counter.merger.encoder.EncodeAll(state.Encoded, nil),
		Size:     len(state.Encoded),
		Expires:  expires,
		Stored:   true,
	}
	f.State.Encoded, f.State.Summary = nil, nil
	return f, nil
}

// appendFloor of a rule as it is stored when its buckets close: of one process.
func appendFloor(epoch wire.Epoch, floor int64) []byte {
	return binary.AppendVarint(append([]byte{floorVersion}, epoch[:]...), floor)
}

func readFloor(b []byte) (epoch wire.Epoch, floor int64, err error) {
	r := field.New(b)
	r.Version(floorVersion)
	copy(epoch[:], r.Bytes(len(epoch)))
	floor = r.Int()
	return epoch, floor, whole(r)
}
