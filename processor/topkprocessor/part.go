package topkprocessor

import (
	"context"
	"encoding/binary"
	"strings"

	"go.uber.org/zap"

	"github.com/otel-topk/collector/internal/field"
	"github.com/otel-topk/collector/internal/wire"
)

const (
	partBytes = 4 << 20                            // of states after which a checkpoint goes on in another part
	maxPart   = partBytes + wire.MaxBodyBytes + 16 // bytes of states in a part
)

// partWriter stores the parts of a checkpoint that hold states, from part 1 on, each committed by itself.
type partWriter struct {
	vault    *vault
	number   uint64
	sequence uint64
	states   []byte
	parts    int // so far
}

func (w *partWriter) add(s *wire.State) error {
	body, err := wire.EncodeState(s)
	if err != nil {
		w.vault.counter.logger.DPanic("An open state does not encode", zap.Error(err))
		return nil
	}
	w.states = field.AppendText(w.states, body)
	if len(w.states) < partBytes {
		return nil
	}
	return w.put()
}

// put what was added since the last part.
func (w *partWriter) put() error {
	if len(w.states) == 0 {
		return nil
	}
	w.parts++
	value := binary.LittleEndian.AppendUint64([]byte{checkpointVersion}, w.sequence)
	value = w.vault.counter.merger.encoder.EncodeAll(w.states, value)
	w.states = w.states[:0]
	if err := w.vault.depot.Set(partKey(w.number, w.parts), value); err != nil {
		return err
	}
	return w.vault.depot.Commit(context.Background())
}

// addPart of the checkpoint with the sequence that it should have.
func (rc *recount) addPart(part []byte, bodies *wire.Bodies) error {
	r := field.New(part)
	r.Version(checkpointVersion)
	if r.Fixed64() != rc.sequence || r.Broken() {
		return errStored
	}
	states, err := rc.vault.decoder.DecodeAll(r.Rest(), nil)
	if err != nil {
		return err
	}
	for r = field.New(states); len(r.Rest()) > 0; {
		s, err := bodies.State(r.Text(wire.MaxBodyBytes))
		if err != nil {
			return err
		}
		if err := rc.addState(s); err != nil {
			return err
		}
	}
	return whole(r)
}

// partKey of a checkpoint's part; its head is part 0.
func partKey(n uint64, part int) string {
	return numbered(checkpointKey, n) + numbered("/", uint64(part))
}

// partOf is the inverse of partKey.
func partOf(key string) (n, part uint64, ok bool) {
	at := max(strings.LastIndexByte(key, '/'), 0)
	n, first := numberOf(checkpointKey, key[:at])
	part, second := numberOf("/", key[at:])
	return n, part, first && second
}
