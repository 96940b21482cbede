package archive

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/otel-topk/collector/internal/rule"
)

// File names one immutable file of records: logs/year=2026/month=01/day=02/hour=15/<shard>-<segment>.parquet.
type File struct {
	Signal string // rule.SignalLogs or rule.SignalTraces
	Hour   Hour
	Name   string // shard, segment and .parquet
	Size   int64  // bytes; 0: not known
}

const (
	hourLayout = "year=2006/month=01/day=02/hour=15"
	hourFolder = "year=YYYY/month=MM/day=DD/hour=HH"
	extension  = ".parquet"
)

// namePattern is that of FileName: a shard, never hidden by a dot or an underscore, and a segment.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9!-][A-Za-z0-9!._-]*-[0-9a-f]{16,64}\.parquet$`)

// Path of the file in the archive.
func (f File) Path() string {
	return f.Signal + "/" + f.Hour.Start().Format(hourLayout) + "/" + f.Name
}

// ParseFile is the inverse of Path. An error says that a path is none of a file of records.
func ParseFile(path string) (File, error) {
	signal, _, _ := strings.Cut(path, "/")
	if signal != rule.SignalLogs && signal != rule.SignalTraces {
		return File{}, fmt.Errorf("%q is no file of records: it lies neither in %s/ nor in %s/", path, rule.SignalLogs, rule.SignalTraces)
	}
	hour, ok := hourOfPath(path)
	if !ok {
		return File{}, fmt.Errorf("%q is no file of records: it lies in no hour, year=YYYY/month=MM/day=DD/hour=HH", path)
	}
	f := File{Signal: signal, Hour: hour, Name: path[strings.LastIndexByte(path, '/')+1:]}
	if !namePattern.MatchString(f.Name) || f.Path() != path {
		return File{}, fmt.Errorf("%q is no file of records: its name is not <shard>-<segment>%s", path, extension)
	}
	return f, nil
}

// hourOfPath is the hour of what lies in its folder, whatever it is.
func hourOfPath(path string) (Hour, bool) {
	_, rest, _ := strings.Cut(path, "/")
	if len(rest) <= len(hourFolder) || rest[len(hourFolder)] != '/' {
		return 0, false
	}
	start, err := time.Parse(hourLayout, rest[:len(hourFolder)])
	return HourOf(start.UnixNano()), err == nil
}

// segmentPattern is what follows the shard in a name.
var segmentPattern = regexp.MustCompile(`^[0-9a-f]{16,64}\.parquet$`)

// maxShardBytes is the longest shard in a file's name: file systems allow 255 bytes for all of it.
const maxShardBytes = 120

// FileName is the Name of the file that a segment becomes in each of its hours. segment is 16 to 64 lower case hexadecimal digits.
func FileName(shard, segment string) string { return shardName(shard) + "-" + segment + extension }

// shardName is the shard as part of a path: bytes other than letters, digits, dot, underscore and hyphen are ! and two hexadecimal
// digits, and so are a dot or underscore at the beginning, which would hide the file from Spark. A long one ends in its hash.
func shardName(shard string) string {
	var b strings.Builder
	for i := range len(shard) {
		switch c := shard[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', i > 0 && (c == '.' || c == '_'):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "!%02X", c)
		}
	}
	switch {
	case b.Len() == 0:
		return "!"
	case b.Len() > maxShardBytes:
		sum := xxh3.HashString128(shard).Bytes()
		return b.String()[:maxShardBytes-2*len(sum)] + hex.EncodeToString(sum[:])
	}
	return b.String()
}
