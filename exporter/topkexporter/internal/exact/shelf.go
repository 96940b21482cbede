package exact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/otel-topk/collector/internal/archive"
)

// shelf is what the archive holds of one signal, as it was last listed.
type shelf struct {
	hours  map[archive.Hour]*filed
	first  archive.Hour
	newest archive.Hour
}

// filed are the files of one hour.
type filed struct {
	files   []archive.File
	digest  string    // of files
	seen    time.Time // when the hour was first seen
	changed time.Time // when it was first seen so
	began   time.Time // when the first of the changes was seen that followed one another without settling
}

// put what was listed of the hours before to, the first of which is from.
func (s *shelf) put(files []archive.File, from, to archive.Hour, now time.Time, settle time.Duration) {
	old := s.hours
	s.hours = map[archive.Hour]*filed{}
	for hour, f := range old {
		if hour < from || hour >= to {
			s.hours[hour] = f
		}
	}
	for _, file := range files {
		f := s.hours[file.Hour]
		if f == nil {
			f = &filed{}
			s.hours[file.Hour] = f
		}
		f.files = append(f.files, file)
	}
	for hour, f := range s.hours {
		if hour < from || hour >= to {
			continue
		}
		f.digest = digestFiles(f.files)
		f.seen, f.changed, f.began = now, now, now
		before := old[hour]
		if before != nil {
			f.seen = before.seen
		}
		switch {
		case before == nil:
		case before.digest == f.digest:
			f.changed, f.began = before.changed, before.began
		case now.Sub(before.changed) < settle:
			f.began = before.began
		}
	}
	s.extend()
}

// extend notes the first and the newest hour.
func (s *shelf) extend() {
	s.first, s.newest = 0, 0
	for hour := range s.hours {
		if s.newest == 0 || hour < s.first {
			s.first = hour
		}
		s.newest = max(s.newest, hour)
	}
}

// digestFiles stands for a set of files, which come sorted.
func digestFiles(files []archive.File) string {
	if len(files) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(hash, "%s %d\n", f.Path(), f.Size)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
