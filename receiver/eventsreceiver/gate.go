package eventsreceiver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// gate lets requests in until it is closed.
type gate struct {
	mu     sync.RWMutex // held for reading by each request
	closed bool
}

// close waits for all requests, and lets none in from then on.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// limit what clients can make a server hold.
func (e *events) limit(server *http.Server) {
	server.MaxHeaderBytes = headerBytes
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streams, MaxReceiveBufferPerConnection: streamBuffer, MaxReceiveBufferPerStream: streamBuffer}
	server.ConnState = e.connection
	server.Handler = e.gated(server.Handler)
}

// gated is a handler, and its requests in the gate and in the budget. It stands before anything that reads or unpacks a body.
func (e *events) gated(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.gate.mu.RLock()
		defer e.gate.mu.RUnlock()
		if e.gate.closed {
			e.refuse(w, r, busy("the collector ends"))
			return
		}
		if e.connections.Load() > int64(e.cfg.MaxConnections)/2 {
			w.Header().Set("Connection", "close") // so that none is held for a request that may come
		}
		held := &share{of: &e.budget}
		defer held.release()
		if full := held.take(requestBytes + e.cfg.unpacking(r.Header.Get("Content-Encoding"))); full != nil {
			e.refuse(w, r, full)
			return
		}
		inner.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), shareKey{}, held)))
	})
}

// connection counts those that are open, and closes one that is too many.
func (e *events) connection(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if e.connections.Add(1) > int64(e.cfg.MaxConnections) {
			e.refused(context.Background(), reasonConnections)
			_ = c.Close() // which ends its serving, too
		}
	case http.StateClosed, http.StateHijacked:
		e.connections.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}
