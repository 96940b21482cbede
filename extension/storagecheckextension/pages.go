package storagecheckextension

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
)

// The layout of a bbolt file, in the byte order of the machine. A page is a header {id 8, flags 2, count 2, overflow 4 bytes}, its
// elements, and what they point to; overflow is how many pages more it takes.
const (
	headerBytes  = 16
	elementBytes = 16 // branch: {pos 4, ksize 4, page 8}; leaf: {flags 4, pos 4, ksize 4, vsize 4}; pos counts from the element
	bucketBytes  = 16 // at the start of a bucket's value: {root page 8, sequence 8}; without a root its one page follows
	metaBytes    = 64 // {magic 4, version 4, page size 4, flags 4, root bucket 16, freelist 8, pages 8, transaction 8, checksum 8}

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	minPageSize = 1 << 10
	maxPageSize = 1 << 24
	maxKeyBytes = 1 << 15

	branchPage = 0x01
	leafPage   = 0x02
	freePage   = 0x10
	bucketLeaf = 0x01 // flag of an element

	noFreelist = math.MaxUint64
	readAhead  = 64 << 10
)

var order = binary.NativeEndian

// pages of a file, as its newer meta page tells them.
type pages struct {
	file        io.ReaderAt
	size        int64
	pageSize    int64
	root        uint64
	freelist    uint64
	end         uint64 // all ids are below
	transaction uint64
	seen        map[uint64]bool
	depth       int // of the bucket that is walked; the outermost holds nothing but buckets
}

// page is a run of bytes that holds elements: pages of the file, or what stands in a value.
type page struct {
	at, size int64
	flags    uint16
	count    int
	ahead    []byte // the first bytes
}

// checkPages says why bbolt, which trusts all pages once a meta page is good, would fail on one: a page that is not what points to
// it says, beyond the end, in two places, or out of order.
func checkPages(file io.ReaderAt, size int64) error {
	p, err := readMeta(file, size)
	if err != nil {
		return err
	}
	if p.freelist != noFreelist {
		if _, err := p.page(p.freelist, freePage); err != nil {
			return err
		}
	}
	return p.walk(p.root, nil, nil)
}

// readMeta finds the newer good one of the two meta pages.
func readMeta(file io.ReaderAt, size int64) (newest *pages, err error) {
	for at := int64(0); at <= maxPageSize; at = max(2*at, minPageSize) {
		p := meta(file, size, at)
		if p != nil && (at == 0 || at == p.pageSize) && (newest == nil || p.transaction > newest.transaction) {
			newest = p
		}
	}
	if newest == nil {
		return nil, errors.New("no good meta page")
	}
	return newest, nil
}

// meta page at an offset, nil if there is no good one.
func meta(file io.ReaderAt, size, at int64) *pages {
	var b [headerBytes + metaBytes]byte
	if _, err := file.ReadAt(b[:], at); err != nil {
		return nil
	}
	m := b[headerBytes:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:56]) // never fails
	pageSize := int64(order.Uint32(m[8:]))
	if order.Uint32(m) != metaMagic || order.Uint32(m[4:]) != metaVersion || order.Uint64(m[56:]) != sum.Sum64() ||
		pageSize < minPageSize || pageSize > maxPageSize {
		return nil
	}
	return &pages{
		file:        file,
		size:        size,
		pageSize:    pageSize,
		root:        order.Uint64(m[16:]),
		freelist:    order.Uint64(m[32:]),
		end:         min(order.Uint64(m[40:]), uint64(size/pageSize)),
		transaction: order.Uint64(m[48:]),
		seen:        map[uint64]bool{0: true, 1: true},
	}
}

// page of the file with this id, which has to be of one of these kinds.
func (p *pages) page(id uint64, kinds uint16) (*page, error) {
	if id >= p.end {
		return nil, fmt.Errorf("page %d is beyond the end", id)
	}
	at := int64(id) * p.pageSize
	head, err := p.read(at, headerBytes)
	if err != nil {
		return nil, err
	}
	if own := order.Uint64(head); own != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, own)
	}
	more := uint64(order.Uint32(head[12:]))
	if id+more >= p.end {
		return nil, fmt.Errorf("page %d ends beyond the end", id)
	}
	for n := id; n <= id+more; n++ {
		if p.seen[n] {
			return nil, fmt.Errorf("page %d is in two places", n)
		}
		p.seen[n] = true
	}
	return p.open(at, int64(1+more)*p.pageSize, kinds)
}

// open what stands in size bytes from at.
func (p *pages) open(at, size int64, kinds uint16) (*page, error) {
	if size < headerBytes {
		return nil, fmt.Errorf("a page of %d bytes", size)
	}
	ahead, err := p.read(at, min(size, readAhead))
	if err != nil {
		return nil, err
	}
	g := &page{at: at, size: size, flags: order.Uint16(ahead[8:]), count: int(order.Uint16(ahead[10:])), ahead: ahead}
	if g.flags&kinds == 0 || g.flags&(g.flags-1) != 0 {
		return nil, fmt.Errorf("a page of the kind %#x", g.flags)
	}
	return g, nil
}

func (p *pages) read(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	_, err := p.file.ReadAt(b, at)
	return b, err
}

// bytes of a page.
func (p *pages) bytes(g *page, from, n int64) ([]byte, error) {
	switch {
	case from > g.size-n:
		return nil, errors.New("an element points beyond its page")
	case from+n <= int64(len(g.ahead)):
		return g.ahead[from : from+n], nil
	default:
		return p.read(g.at+from, n)
	}
}
