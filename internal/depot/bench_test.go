package depot

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkCommit is a value of 30 KB under one of 16 keys, set and committed by so many at once.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			d, _ := reopen(b, b.TempDir())
			defer d.Close(ctx)
			c := failing(d)
			value := make([]byte, 30_000)
			b.ReportAllocs()
			b.SetBytes(int64(len(value)))
			b.ResetTimer()
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					for i := range b.N / writers {
						if err := d.Set(fmt.Sprint((i*writers+w)%16), value); err != nil {
							b.Error(err)
						}
						if err := d.Commit(ctx); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			require.NoError(b, d.Commit(ctx))
			b.ReportMetric(float64(c.batches.Load())/float64(b.N), "transactions/op")
		})
	}
}
