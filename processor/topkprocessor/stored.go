package topkprocessor

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/depot"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	finalVersion = 1
	floorVersion = 1

	finalsAtOnce = 8 << 20 // bytes of final states that are written together
)

// keep the final states of closed buckets, and the floor below which nothing of the journal counts any more, together. Called
// before pending has them, so that none is sent before it is set.
func (v *vault) keep(l *ledger, finals []*final) {
	if v == nil || !v.recording.Load() {
		return
	}
	var change depot.Change
	err := change.Set(numbered(floorKey, uint64(l.index)), appendFloor(v.counter.epoch, l.floor.Load()))
	for _, f := range finals {
		if value, ok := v.encodeFinal(f); ok {
			err = errors.Join(err, change.Set(numbered(finalKey, f.id), value))
		}
	}
	if err != nil {
		v.fail(err)
		return
	}
	for _, f := range finals {
		_, f.stored = change.Get(numbered(finalKey, f.id))
	}
	v.depot.Apply(&change)
}

// unstore a final state that no gateway waits for.
func (v *vault) unstore(f *final) { v.depot.Delete(numbered(finalKey, f.id)) }

// storeFinals that were not stored when their buckets closed, those of a bucket together.
func (v *vault) storeFinals(finals []*final) error {
	for len(finals) > 0 {
		var values [][]byte
		for size := 0; len(values) < len(finals) && (size < finalsAtOnce || finals[len(values)].follows(finals[len(values)-1])); {
			value, _ := v.encodeFinal(finals[len(values)])
			values = append(values, value)
			size += len(value)
		}
		together := finals[:len(values)]
		var change depot.Change
		var err error
		v.counter.pending.store(together, func(i int) bool {
			if values[i] == nil {
				return false
			}
			err = errors.Join(err, change.Set(numbered(finalKey, together[i].id), values[i]))
			return true
		}, func() { v.depot.Apply(&change) })
		if err == nil {
			err = v.depot.Commit(context.Background())
		}
		if err != nil {
			v.counter.pending.forget(together, func(f *final) { v.depot.Forget(numbered(finalKey, f.id)) })
			return err
		}
		finals = finals[len(values):]
	}
	return nil
}

// follows says whether both are of one bucket.
func (f *final) follows(other *final) bool {
	return f.state.Minute == other.state.Minute && f.state.Rule == other.state.Rule && f.state.Epoch == other.state.Epoch
}

// encodeFinal as it is stored: when it expires, and the body of the state under zstd.
func (v *vault) encodeFinal(f *final) ([]byte, bool) {
	state := f.state
	encoded, err := f.unpack(v.decoder)
	if err == nil {
		state.Encoded = encoded
		encoded, err = wire.EncodeState(&state)
	}
	if err != nil {
		v.counter.logger.DPanic("A final state does not encode", zap.Error(err))
		return nil, false
	}
	value := binary.LittleEndian.AppendUint64([]byte{finalVersion}, uint64(f.expires))
	return v.counter.merger.encoder.EncodeAll(encoded, value), true
}

// decodeFinal is the inverse of encodeFinal.
func (v *vault) decodeFinal(value []byte, bodies *wire.Bodies) (*final, error) {
	r := reader{b: value}
	r.version(finalVersion)
	expires := int64(r.fixed())
	if r.bad {
		return nil, errStored
	}
	body, err := v.decoder.DecodeAll(r.b, nil)
	if err != nil {
		return nil, err
	}
	state, err := bodies.State(body)
	if err != nil {
		return nil, err
	}
	overhead, err := overheadOf(state.Rule)
	if err != nil {
		return nil, err
	}
	f := &final{
		state:    *state,
		overhead: overhead,
		packed:   v.counter.merger.encoder.EncodeAll(state.Encoded, nil),
		size:     len(state.Encoded),
		expires:  expires,
		stored:   true,
	}
	f.state.Encoded, f.state.Summary = nil, nil
	return f, nil
}

// unpack the encoded summary.
func (f *final) unpack(decoder *zstd.Decoder) ([]byte, error) {
	return decoder.DecodeAll(f.packed, make([]byte, 0, f.size))
}

// appendFloor of a rule as it is stored when its buckets close: of one process.
func appendFloor(epoch wire.Epoch, floor int64) []byte {
	return binary.AppendVarint(append([]byte{floorVersion}, epoch[:]...), floor)
}

func readFloor(b []byte) (epoch wire.Epoch, floor int64, err error) {
	r := reader{b: b}
	r.version(floorVersion)
	copy(epoch[:], r.bytes(len(epoch)))
	floor = r.varint()
	return epoch, floor, r.end()
}
