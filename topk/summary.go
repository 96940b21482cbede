// Package topk holds one type that counts and merges: Summary.
package topk

import "errors"

// MaxTotal is the most weight one Summary takes.
const MaxTotal = 1 << 63

// MaxKeyBytes is the longest key a Summary takes.
const MaxKeyBytes = 1<<16 - 1

// Errors of Add, AddBatch and Merge; nothing was counted when one is returned.
var (
	ErrTotal = errors.New("topk: total weight would pass 2^63")
	ErrKey   = errors.New("topk: key is longer than 65535 bytes")
)

// Shape is what two summaries must share to merge.
type Shape struct {
	Width, Depth int    // of the Count-Min tail
	Seed         uint64 // of the key hash
}

// NewShape is ceil(e/epsilon) x ceil(ln(1/delta)).
func NewShape(epsilon, delta float64, seed uint64) (Shape, error) { panic("stub") }

// Residents is the default size of the exact table for lists of k: max(640, 6k).
func Residents(k int) int { return max(640, 6*k) }

// Summary is not safe for concurrent use.
type Summary struct{}

// New makes an empty summary of at most residents keys.
func New(residents int, shape Shape) (*Summary, error) { panic("stub") }

// Add counts weight of key.
func (s *Summary) Add(key string, weight uint64) error { panic("stub") }

// AddBatch counts many keys; weights nil means 1 each. All or nothing.
func (s *Summary) AddBatch(keys []string, weights []uint64) error { panic("stub") }

// Merge adds o to s.
func (s *Summary) Merge(o *Summary) error { panic("stub") }

// MergeBound adds to s's upper bounds what may have been counted of s's keys in o, which covers them and others.
// Total and Records do not change; TotalUpper rises by o's.
func (s *Summary) MergeBound(o *Summary) error { panic("stub") }

// Prune keeps exactly the first min(n, size) residents in the order of Top.
func (s *Summary) Prune(n int) { panic("stub") }

// Expect makes pinned residents at zero of the n leading keys of prev.
func (s *Summary) Expect(prev *Summary, n int) { panic("stub") }

// Unpin ends what Expect began: residents are like any other. Called when a bucket closes.
func (s *Summary) Unpin() { panic("stub") }

// Tighten lowers theta to the smallest row maximum.
func (s *Summary) Tighten() { panic("stub") }

// Item of a List.
type Item struct {
	Key             string
	Estimate, Lower uint64
	Certain         bool
	RankCertain     bool
}

// List is the answer of Top: at most K items, and what is needed to certify any shorter list.
type List struct {
	K         int
	Items     []Item
	Theta     uint64 // bounds every key that is not resident
	Next      uint64 // estimate of item K+1; 0: there is none
	Certified bool
}

// First is the list of the first k <= K items, its certificates worked out for k. A List read from a snapshot (Items
// with Key, Estimate and Lower, K, Theta, Next) gets its certificates by First(K).
func (l List) First(k int) List { panic("stub") }

// Top lists the k residents with the largest estimates.
func (s *Summary) Top(k int) List { panic("stub") }

// Bounds returns what is known of any key's weight: lower <= true <= upper.
func (s *Summary) Bounds(key string) (lower, upper uint64) { panic("stub") }

// Total is the weight counted, exact; TotalUpper adds what MergeBound may hide; Records is the number of Adds.
func (s *Summary) Total() uint64      { panic("stub") }
func (s *Summary) TotalUpper() uint64 { panic("stub") }
func (s *Summary) Records() uint64    { panic("stub") }

// Theta bounds every key that is not resident. 0 while the summary is exact.
func (s *Summary) Theta() uint64 { panic("stub") }

// Size is the number of residents, Capacity the most it keeps.
func (s *Summary) Size() int     { panic("stub") }
func (s *Summary) Capacity() int { panic("stub") }
func (s *Summary) Shape() Shape  { panic("stub") }

// Distinct is the number of keys with weight.
func (s *Summary) Distinct() (n uint64, exact bool) { panic("stub") }

// Clone copies s. Reset empties it and keeps its memory.
func (s *Summary) Clone() *Summary { panic("stub") }
func (s *Summary) Reset()          { panic("stub") }

// AppendBinary appends the encoding of FORMAT.md to b.
func (s *Summary) AppendBinary(b []byte) ([]byte, error) { panic("stub") }

// UnmarshalBinary replaces s by what data holds; on error s is unchanged.
func (s *Summary) UnmarshalBinary(data []byte) error { panic("stub") }
