package main

import (
	"context"
	"time"
)

// pacer lets rate records a second through. At most one second that was missed is caught up on.
type pacer struct {
	rate float64
	due  float64
	last time.Time
}

// wait returns when n more records are due, or with the error of ctx.
func (p *pacer) wait(ctx context.Context, n int) error {
	for ctx.Err() == nil {
		now := time.Now()
		p.due = min(p.due+p.rate*now.Sub(p.last).Seconds(), float64(n)+p.rate)
		p.last = now
		missing := float64(n) - p.due
		if missing <= 0 {
			p.due -= float64(n)
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(missing / p.rate * float64(time.Second))):
		}
	}
	return ctx.Err()
}
