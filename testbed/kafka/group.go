package kafka

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Uncommitted are the messages, up to now, of those partitions of a topic that the group gave to one client and whose offsets are
// not committed: if that client was just killed, what it may have taken and another one will take again.
func (b *Broker) Uncommitted(group, client, topic string) []*kgo.Record {
	b.Helper()
	committed := b.Committed(group)
	from := make(map[int32]int64)
	for _, partition := range b.Assigned(group, client, topic) {
		from[partition] = committed[partition]
	}
	return b.Since(topic, from)
}

// Since are the messages of some partitions of a topic from an offset on, up to now; those of one partition in their order.
func (b *Broker) Since(topic string, offsets map[int32]int64) (records []*kgo.Record) {
	b.Helper()
	from, until, left := make(map[int32]kgo.Offset), b.ends(topic, slices.Collect(maps.Keys(offsets))), int64(0)
	for partition, end := range until {
		if start := max(offsets[partition], 0); start < end {
			from[partition] = kgo.NewOffset().At(start)
			left += end - start
		}
	}
	if left == 0 {
		return nil
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.Address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	require.NoError(b, err)
	defer reader.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for left > 0 {
		fetches := reader.PollFetches(ctx)
		require.NoError(b, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset < until[r.Partition] {
				records = append(records, r)
				left--
			}
		})
	}
	return records
}

// Assigned are the partitions of a topic that a group gave to a client.
func (b *Broker) Assigned(group, client, topic string) (partitions []int32) {
	b.Helper()
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{group}
	answer, err := b.ask(request)
	require.NoError(b, err)
	for _, member := range answer.(*kmsg.DescribeGroupsResponse).Groups[0].Members {
		if member.ClientID != client || len(member.MemberAssignment) == 0 { // it joins
			continue
		}
		var given kmsg.ConsumerMemberAssignment
		require.NoError(b, given.ReadFrom(member.MemberAssignment))
		for _, t := range given.Topics {
			if t.Topic == topic {
				partitions = append(partitions, t.Partitions...)
			}
		}
	}
	return partitions
}

// Committed offsets of a group that reads one topic.
func (b *Broker) Committed(group string) map[int32]int64 {
	b.Helper()
	of := kmsg.NewOffsetFetchRequestGroup()
	of.Group = group
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group, request.Groups = group, append(request.Groups, of)
	answer, err := b.ask(request)
	require.NoError(b, err)
	offsets := make(map[int32]int64)
	for _, g := range answer.(*kmsg.OffsetFetchResponse).Groups {
		require.NoError(b, kerr.ErrorForCode(g.ErrorCode))
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				offsets[p.Partition] = p.Offset
			}
		}
	}
	return offsets
}

// ends are the offsets after the last message of each partition.
func (b *Broker) ends(topic string, partitions []int32) map[int32]int64 {
	b.Helper()
	of := kmsg.NewListOffsetsRequestTopic()
	of.Topic = topic
	for _, partition := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, -1
		of.Partitions = append(of.Partitions, p)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID, request.Topics = -1, append(request.Topics, of)
	answer, err := b.ask(request)
	require.NoError(b, err)
	offsets := make(map[int32]int64)
	for _, t := range answer.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			require.NoError(b, kerr.ErrorForCode(p.ErrorCode))
			offsets[p.Partition] = p.Offset
		}
	}
	return offsets
}
