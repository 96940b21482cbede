package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPacerKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := pacer{rate: 1000, last: start}
		for range 100 {
			require.NoError(t, p.wait(t.Context(), 50))
		}
		assert.InDelta(t, 5, time.Since(start).Seconds(), 0.01)
	})
}

func TestPacerCatchesUpOnOneSecondOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer{rate: 100, last: time.Now()}
		time.Sleep(time.Minute)
		start, through := time.Now(), 0
		for time.Since(start) < time.Second {
			require.NoError(t, p.wait(t.Context(), 10))
			through += 10
		}
		assert.InDelta(t, 200, through, 20)
	})
}

func TestPacerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := pacer{rate: 0.001, last: time.Now()}
		assert.ErrorIs(t, p.wait(ctx, 1), context.DeadlineExceeded)
	})
}
