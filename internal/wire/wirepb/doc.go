// Package wirepb holds the messages of wire.proto.
package wirepb

//go:generate go -C ../../../tools/protogen run . ../.. internal/wire/wirepb/wire.proto
