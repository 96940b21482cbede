package topk_test

import (
	"fmt"

	"github.com/otel-topk/collector/topk"
)

// Two shards count, a gateway merges what they send and lists the two largest keys.
func Example() {
	shape, err := topk.NewShape(0.001, 0.01, 42)
	if err != nil {
		panic(err)
	}
	gateway, err := topk.New(4096, shape)
	if err != nil {
		panic(err)
	}
	for _, requests := range [][]string{
		{"/login", "/search", "/login", "/"},
		{"/login", "/search", "/cart"},
	} {
		shard, err := topk.New(topk.Residents(100), shape)
		if err != nil {
			panic(err)
		}
		if err := shard.AddBatch(requests, nil); err != nil {
			panic(err)
		}
		state, err := shard.MarshalBinary()
		if err != nil {
			panic(err)
		}
		var received topk.Summary
		if err := received.UnmarshalBinary(state); err != nil {
			panic(err)
		}
		if err := gateway.Merge(&received); err != nil {
			panic(err)
		}
	}
	list := gateway.Top(2)
	for i, item := range list.Items {
		fmt.Printf("%d. %s: %d to %d of %d\n", i+1, item.Key, item.Lower, item.Estimate, gateway.Total())
	}
	fmt.Println("certified:", list.Certified)
	// Output:
	// 1. /login: 3 to 3 of 7
	// 2. /search: 2 to 2 of 7
	// certified: true
}

// A summary of few residents is not exact for long, but its bounds hold.
func ExampleSummary_Bounds() {
	s, err := topk.New(16, topk.Shape{Width: 64, Depth: 5})
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		if err := s.Add(fmt.Sprint("visitor ", i), 1); err != nil {
			panic(err)
		}
		if err := s.Add("robot", 10); err != nil {
			panic(err)
		}
	}
	lower, upper := s.Bounds("robot")
	fmt.Println("robot:", lower, "to", upper)
	lower, upper = s.Bounds("visitor 7")
	fmt.Println("visitor 7:", lower == 0, upper >= 1, upper <= s.Theta())
	// Output:
	// robot: 10000 to 10000
	// visitor 7: true true true
}

// A minute expects what led the minute before, and counts it exactly from the first record on.
func ExampleSummary_Expect() {
	shape := topk.Shape{Width: 64, Depth: 5}
	before, err := topk.New(16, shape)
	if err != nil {
		panic(err)
	}
	now, err := topk.New(16, shape)
	if err != nil {
		panic(err)
	}
	for i := range 100 {
		if err := before.Add(fmt.Sprint("key ", i), uint64(i)); err != nil {
			panic(err)
		}
	}
	now.Expect(before, 4)
	for i := range 100 {
		if err := now.Add(fmt.Sprint("key ", i), 1); err != nil {
			panic(err)
		}
	}
	fmt.Println(now.Bounds("key 99"))
	// Output: 1 1
}
