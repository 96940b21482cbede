package depot

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Many set and commit at once, while commits fail now and then; after each nil the value is in the file.
func TestWhatIsCommittedIsInTheFile(t *testing.T) {
	const writers, values = 16, 40
	dir := t.TempDir()
	d, _ := reopen(t, dir)
	c := failing(d)
	c.every = 5
	var failed atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range values {
				key := fmt.Sprintf("%d/%d", w, i)
				assert.NoError(t, d.Set(key, []byte(key)))
				for d.Commit(ctx) != nil {
					failed.Add(1)
				}
				value, err := c.Get(ctx, key)
				assert.NoError(t, err)
				assert.Equal(t, string(seal(key, []byte(key))), string(value), "of the client, which has no buffer")
			}
		})
	}
	all.Wait()
	require.NoError(t, c.Close(ctx)) // the depot is not
	assert.Len(t, stored(t, dir), writers*values)
	assert.Positive(t, failed.Load())
	assert.Less(t, c.batches.Load(), int64(writers*values)+failed.Load(), "they share transactions")
}

// held is a depot whose client stops in each Batch and Get until one is let go.
func held() (*Depot, *client) {
	d := New(Memory{})
	c := failing(d)
	c.hold = make(chan struct{})
	return d, c
}

func TestCommitsThatComeMeanwhileShareOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := held()
		var done atomic.Int64
		for i := range 20 {
			require.NoError(t, d.Set(fmt.Sprint(i), nil))
			go func() {
				assert.NoError(t, d.Commit(ctx))
				done.Add(1)
			}()
			synctest.Wait()
		}
		c.hold <- struct{}{}
		synctest.Wait()
		assert.EqualValues(t, 1, done.Load())
		c.hold <- struct{}{}
		synctest.Wait()
		assert.EqualValues(t, 20, done.Load())
		assert.EqualValues(t, 2, c.batches.Load())
	})
}

func TestCommitWaitsForWhatOthersAreWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := held()
		require.NoError(t, d.Set("a", nil))
		go func() { assert.NoError(t, d.Commit(ctx)) }()
		synctest.Wait()
		var done atomic.Bool
		go func() {
			assert.NoError(t, d.Commit(ctx))
			done.Store(true)
		}()
		synctest.Wait()
		assert.False(t, done.Load())
		c.hold <- struct{}{}
		synctest.Wait()
		assert.True(t, done.Load())
		assert.EqualValues(t, 1, c.batches.Load(), "there was nothing else to write")
	})
}

func TestWritesOfAWaiterThatLeftGoOnWithTheOthers(t *testing.T) {
	for _, others := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			d, c := held()
			require.NoError(t, d.Set("first", nil))
			go func() { assert.NoError(t, d.Commit(ctx)) }()
			synctest.Wait()
			require.NoError(t, d.Set("left", nil))
			leaving, leave := context.WithCancel(ctx)
			var left atomic.Bool
			go func() {
				assert.ErrorIs(t, d.Commit(leaving), context.Canceled)
				left.Store(true)
			}()
			synctest.Wait()
			for range others {
				go func() { assert.NoError(t, d.Commit(ctx)) }()
			}
			synctest.Wait()
			leave()
			synctest.Wait()
			assert.True(t, left.Load())
			c.hold <- struct{}{}
			synctest.Wait()
			if others == 0 {
				go func() { assert.NoError(t, d.Commit(ctx)) }()
			}
			c.hold <- struct{}{}
			synctest.Wait()
			assert.Contains(t, c.Client, "left")
			assert.NoError(t, d.Commit(ctx))
			assert.EqualValues(t, 2, c.batches.Load())
		})
	}
}

// inFlight sets key to "old" and returns when its Batch is under way, and a func that ends it.
func inFlight(t *testing.T, d *Depot, c *client, key string) (end func(fail bool) error) {
	require.NoError(t, d.Set(key, []byte("old")))
	result := make(chan error, 1)
	go func() { result <- d.Commit(ctx) }()
	synctest.Wait()
	return func(fail bool) error {
		c.full.Store(fail)
		c.hold <- struct{}{}
		c.hold = nil
		defer c.full.Store(false)
		return <-result
	}
}

func TestWhatAFailedCommitLeavesOverridesNothingNewer(t *testing.T) {
	for name, write := range map[string]func(d *Depot, key string){
		"new": func(d *Depot, key string) { _ = d.Set(key, []byte("new")) },
		"":    func(d *Depot, key string) { d.Delete(key) },
	} {
		synctest.Test(t, func(t *testing.T) {
			d, c := held()
			require.NoError(t, d.Walk(ctx, nil))
			end := inFlight(t, d, c, "key")
			value, err := d.Get(ctx, "key")
			require.NoError(t, err)
			assert.Equal(t, "old", string(value), "in flight")
			write(d, "key")
			require.ErrorIs(t, end(true), errFull)
			value, err = d.Get(ctx, "key")
			require.NoError(t, err)
			assert.Equal(t, name, string(value))
			require.NoError(t, d.Commit(ctx))
			value, err = d.Get(ctx, "key")
			require.NoError(t, err)
			assert.Equal(t, name, string(value))
		})
	}
}

func TestADeleteOfWhatIsBeingWrittenIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := held()
		require.NoError(t, d.Walk(ctx, nil))
		end := inFlight(t, d, c, "key")
		d.Delete("key")
		require.NoError(t, end(false))
		assert.Contains(t, c.Client, "key")
		require.NoError(t, d.Commit(ctx))
		assert.Empty(t, c.Client)
	})
}

func TestWhatIsForgottenInFlightIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := held()
		end := inFlight(t, d, c, "key")
		d.Forget("key")
		require.ErrorIs(t, end(true), errFull)
		require.NoError(t, d.Commit(ctx))
		assert.Empty(t, c.Client)
		assert.Empty(t, d.buffer)
	})
}

func TestKeysThatComeAndGoWhileNothingCanBeStoredLeaveNothing(t *testing.T) {
	d, _ := reopen(t, t.TempDir())
	require.NoError(t, d.Set("stays", nil))
	require.NoError(t, d.Commit(ctx))
	c := failing(d)
	c.full.Store(true)
	for i := range 1000 {
		key := fmt.Sprint(i)
		require.NoError(t, d.Set(key, nil))
		require.ErrorIs(t, d.Commit(ctx), errFull)
		d.Delete(key)
		value, err := d.Get(ctx, key)
		require.NoError(t, err)
		require.Nil(t, value)
	}
	assert.Empty(t, d.buffer)
	assert.Zero(t, c.asked.Load(), "what is not stored is known")
	d.Delete("stays")
	assert.Len(t, d.buffer, 1)
	require.ErrorIs(t, d.Close(ctx), errFull)
	_, err := c.Get(ctx, "stays")
	assert.ErrorContains(t, err, "not open", "Close closes the client all the same")
}

func TestWhatNoReaderWouldTakeIsRefused(t *testing.T) {
	d := New(Memory{})
	require.NoError(t, d.Set("key", []byte("before")))
	for want, set := range map[string]func(set func(string, []byte) error) error{
		"a key of 0 bytes, allowed is 1 to 32760":     func(set func(string, []byte) error) error { return set("", nil) },
		"a key of 32761 bytes, allowed is 1 to 32760": func(set func(string, []byte) error) error { return set(strings.Repeat("k", 32761), nil) },
		`a key that begins with "damaged/"`:           func(set func(string, []byte) error) error { return set("damaged/key", nil) },
		"a value of 67108865 bytes, allowed is up to": func(set func(string, []byte) error) error { return set("key", make([]byte, MaxValueBytes+1)) },
	} {
		var c Change
		assert.ErrorContains(t, set(d.Set), want)
		assert.ErrorContains(t, set(c.Set), want)
		d.Apply(&c)
	}
	require.NoError(t, d.Close(ctx))
	assert.Equal(t, Memory{"key": seal("key", []byte("before"))}, d.client.(Memory))
}

func TestTheLongestKeyAndAnEmptyValueAreStored(t *testing.T) {
	dir, key := t.TempDir(), strings.Repeat("k", MaxKeyBytes)
	d, _ := reopen(t, dir)
	require.NoError(t, d.Set(key, nil))
	require.NoError(t, d.Close(ctx))
	d, values := reopen(t, dir)
	require.Equal(t, map[string]string{key: ""}, values)
	d.SetAside(key, nil)
	require.NoError(t, d.Close(ctx))
	assert.Equal(t, map[string]string{asidePrefix + key: string(seal(key, nil))}, stored(t, dir))
}
