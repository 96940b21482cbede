package seedload

import "github.com/stretchr/testify/require"

// message of the topic: its records.
type message []record

// uncommitted messages of a shard that was just killed, by partition, in their order: of each partition the first ones may have been
// counted, and another shard counts all of them.
func (f *fleet) uncommitted(i int) (partitions [][]message) {
	f.Helper()
	places := make(map[int32]int)
	for _, m := range f.broker.Uncommitted(group, shardName(i), topic) {
		records, err := decode(m.Value)
		require.NoError(f, err)
		place, ok := places[m.Partition]
		if !ok {
			place = len(partitions)
			places[m.Partition] = place
			partitions = append(partitions, nil)
		}
		partitions[place] = append(partitions[place], records)
	}
	return partitions
}

// twice finds the messages that counted twice from how many records did in each region: so many of the first ones of each partition
// that they hold just those. It says whether there are such.
func twice(partitions [][]message, byRegion map[string]int) (records []record, found bool) {
	if len(partitions) == 0 {
		for _, n := range byRegion {
			if n != 0 {
				return nil, false
			}
		}
		return nil, true
	}
	left := make(map[string]int, len(byRegion))
	for region, n := range byRegion {
		left[region] = n
	}
	for n := 0; ; n++ {
		if rest, ok := twice(partitions[1:], left); ok {
			return append(records, rest...), true
		}
		if n == len(partitions[0]) {
			return nil, false
		}
		for _, r := range partitions[0][n] {
			if left[r.region]--; left[r.region] < 0 {
				return nil, false
			}
		}
		records = append(records, partitions[0][n]...)
	}
}
