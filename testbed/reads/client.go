// Package reads asks a collector for lists as fast as thousands of readers would, while it counts, and measures what they wait.
package reads

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// client is one connection of HTTP/1.1, which takes less CPU than net/http's client does, as reader and server share the machine.
type client struct {
	conn     net.Conn
	reader   *bufio.Reader
	requests []string          // heads, without what ends them
	etags    map[string]string // by request
	next     int
	result
}

// result of some reads.
type result struct {
	ok, unchanged int // 200, 304
	bytes         int64
	times         []time.Duration // from when it was due until it was answered
}

func newClient(address string, paths []string) (*client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), etags: map[string]string{}}
	for _, path := range paths {
		c.requests = append(c.requests, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n", path, address))
	}
	return c, nil
}

// read asks for the next list, with the ETag of what it has of it.
func (c *client) read(due time.Time) error {
	head := c.requests[c.next%len(c.requests)]
	c.next++
	request := head
	if etag := c.etags[head]; etag != "" {
		request += "If-None-Match: " + etag + "\r\n"
	}
	if _, err := io.WriteString(c.conn, request+"\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	c.bytes += n
	switch answer.StatusCode {
	case http.StatusOK:
		c.ok++
		c.etags[head] = answer.Header.Get("ETag")
	case http.StatusNotModified:
		c.unchanged++
	default:
		return fmt.Errorf("%s: %s", head, answer.Status)
	}
	c.times = append(c.times, time.Since(due))
	return nil
}

// run reads so often until end, however long answers take: what is late is asked at once, and its time counts from when it was due.
func (c *client) run(start, end time.Time, every time.Duration) error {
	for due := start; due.Before(end); due = due.Add(every) {
		time.Sleep(time.Until(due))
		if err := c.read(due); err != nil {
			return err
		}
	}
	return nil
}
