package main

import (
	"fmt"
	"io"
	"time"

	"github.com/otel-topk/collector/internal/recount"
)

// meter shows progress on a terminal, in one line.
type meter struct {
	w    io.Writer // nil: it is no terminal
	next time.Time
	line int // its length
}

func newMeter(w io.Writer) *meter {
	if isTerminal(w) {
		return &meter{w: w}
	}
	return &meter{}
}

// showEvery is how often the line changes.
const showEvery = 200 * time.Millisecond

func (m *meter) show(p recount.Progress) {
	if m.w == nil {
		return
	}
	if now := time.Now(); now.After(m.next) {
		m.next = now.Add(showEvery)
		line := progressLine(p)
		fmt.Fprintf(m.w, "\r%-*s", m.line, line)
		m.line = len(line)
	}
}

func progressLine(p recount.Progress) string {
	line := fmt.Sprintf("%d of %d files, %d of about %d records", p.FilesDone, p.Files, p.RowsDone, p.Rows)
	if p.Spilled > 0 {
		line += fmt.Sprintf(", %d MiB spilled", p.Spilled>>20)
	}
	return line
}

// clear the line.
func (m *meter) clear() {
	if m.line > 0 {
		fmt.Fprintf(m.w, "\r%*s\r", m.line, "")
		m.line = 0
	}
}
