package archive

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// placeReader reads what is needed of a resource or scope.
type placeReader struct {
	attributes                     attributeReader
	name, version, dropped, schema *leafReader // nil: not needed

	values, last placeValues
	pairs        []pair // of the last
	known        bool   // there is a last one
}

type placeValues struct {
	name, version, schema string
	dropped               int64
}

// next reads that of the next record, and says whether it is another than the one before.
func (p *placeReader) next() (other bool, err error) {
	if p.name != nil {
		p.values.name = p.name.nextText()
	}
	if p.version != nil {
		p.values.version = p.version.nextText()
	}
	if p.schema != nil {
		p.values.schema = p.schema.nextText()
	}
	if p.dropped != nil {
		p.values.dropped = p.dropped.nextLong()
	}
	if p.attributes.reads() {
		if err := p.attributes.next(); err != nil {
			return false, err
		}
	}
	if p.known && p.values == p.last && slices.Equal(p.pairs, p.attributes.pairs) {
		return false, nil
	}
	p.known, p.last = true, p.values
	p.pairs = append(p.pairs[:0], p.attributes.pairs...)
	return true, nil
}

// fill sets what was read, beside name and version.
func (p *placeReader) fill(m pcommon.Map, dropped func(uint32), schema func(string)) error {
	dropped(uint32(p.values.dropped))
	schema(p.values.schema)
	return p.attributes.fill(m)
}
