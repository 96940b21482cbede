package trendreceiver

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// maxFields is how many fields a request may have: four times what one of 2 MiB, at which shards send, has of the smallest
	// states. Decoded, a field may take some hundred bytes.
	maxFields = 1 << 18

	// maxDepth of messages in messages. Those of states lie five deep.
	maxDepth = 32
)

// message says which fields of an OTLP message are messages, by their numbers. What is none is one value, however long.
type message map[protowire.Number]message

var requestMessage = func() message {
	value, pair := message{}, message{}
	pair[2] = value
	value[5] = message{1: value}
	value[6] = message{1: pair}
	scope := message{3: pair}
	record := message{5: value, 6: pair}
	scopeRecords := message{1: scope, 2: record}
	resource := message{1: pair, 3: message{}}
	return message{1: message{1: resource, 2: scopeRecords, 1000: scopeRecords}}
}()

// errRequest is of a request that is not decoded.
var errRequest = errors.New("request: not as topk processors send it")

// countFields counts the fields of an encoded request, all the way down, and stops where there are too many.
func countFields(request []byte) (n int, err error) {
	err = requestMessage.count(request, &n, 0)
	return n, err
}

func (m message) count(b []byte, n *int, depth int) error {
	if depth > maxDepth {
		return errRequest
	}
	for len(b) > 0 && *n <= maxFields {
		*n++
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return errRequest
		}
		size := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if size < 0 {
			return errRequest
		}
		if inner, ok := m[number]; ok && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b[tag:])
			if err := inner.count(value, n, depth+1); err != nil {
				return err
			}
		}
		b = b[tag+size:]
	}
	return nil
}

// countElements counts at least as many as a request in JSON has objects, lists and fields.
func countElements(request []byte) (n int, err error) {
	for _, c := range request {
		if c == '{' || c == '[' || c == ',' {
			n++
		}
	}
	return n, nil
}
