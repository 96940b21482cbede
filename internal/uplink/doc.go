// Package uplink sends states to gateways: open ones in their newest version, final ones until they are answered. It is the part of
// the shell that the processor and the trend receiver share, so it has goroutines, a clock and a logger.
package uplink
