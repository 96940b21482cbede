package collector

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are chosen from below 32768, where Linux begins to take those of outgoing connections: nothing takes one between the
// choice and the listening. Test processes that run side by side choose from blocks of their own.
const (
	firstPort = 10_000
	blockSize = 50
	blocks    = 440
)

// block of ports that this process may choose from.
var block struct {
	sync.Mutex
	claims    []net.Listener // on the first port of each block: they keep other processes off until this one ends
	next, end int
}

// freeAddress is one on which nobody listens.
func freeAddress() (string, error) {
	block.Lock()
	defer block.Unlock()
	for {
		if block.next == block.end {
			if err := claimBlock(); err != nil {
				return "", err
			}
		}
		l, err := listen(block.next)
		block.next++
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
}

func claimBlock() error {
	start := rand.IntN(blocks)
	for i := range blocks {
		first := firstPort + (start+i)%blocks*blockSize
		if l, err := listen(first); err == nil {
			block.claims = append(block.claims, l)
			block.next, block.end = first+1, first+blockSize
			return nil
		}
	}
	return errors.New("no block of ports is free")
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
