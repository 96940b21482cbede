package collector

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFaultyProxyDeliversInTheEndWhatItHeldBack(t *testing.T) {
	ports := NewPorts()
	sink := NewSink(t, ports.Address(t, "sink"))
	proxy := NewProxy(t, ports.Address(t, "proxy"), ports.Address(t, "sink"), 1)
	to := NewSender(t, ports.Address(t, "proxy"))
	send := func(what string) error { return to.Raw(t.Context(), LogsMethod, []byte(what)) }
	arrived := func() map[string]int {
		n := make(map[string]int)
		for _, body := range sink.Requests(LogsMethod) {
			n[string(body)]++
		}
		return n
	}

	require.NoError(t, send("a"))
	assert.Equal(t, map[string]int{"a": 1}, arrived())

	proxy.Faulty()
	answered := make(map[string]bool)
	for i := range 200 {
		what := strconv.Itoa(i)
		answered[what] = send(what) == nil
	}
	before := len(sink.Requests(LogsMethod))
	proxy.Quiet(t.Context())
	require.NoError(t, send("z"))

	counts, n := proxy.Counts(), arrived()
	for _, fate := range []string{"dropped", "delayed", "repeated", "held", "lied"} {
		assert.Positive(t, counts[fate], fate)
	}
	assert.Greater(t, len(sink.Requests(LogsMethod)), before+1, "what was held back")
	assert.Equal(t, 1, n["z"], "passed on as it came")
	missing, twice := 0, 0
	for what, ok := range answered {
		switch n[what] {
		case 0:
			missing++
			assert.False(t, ok, "answered, and never delivered")
		case 2:
			twice++
		}
	}
	assert.Equal(t, counts["dropped"], missing)
	assert.Equal(t, counts["repeated"], twice)
}

func TestADeafProxyAnswersNothing(t *testing.T) {
	ports := NewPorts()
	sink := NewSink(t, ports.Address(t, "sink"))
	proxy := NewProxy(t, ports.Address(t, "proxy"), ports.Address(t, "sink"), 1)
	to := NewSender(t, ports.Address(t, "proxy"))
	proxy.Deaf(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, to.Raw(ctx, LogsMethod, []byte("a")), "DeadlineExceeded")
	assert.Empty(t, sink.Requests(LogsMethod))
	proxy.Deaf(false)
	require.NoError(t, to.Raw(t.Context(), LogsMethod, []byte("b")))
	assert.Len(t, sink.Requests(LogsMethod), 1)
}
