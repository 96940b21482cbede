// Package dataset reads sets of real data as OTLP logs and traces, sorted by time, with the text that each key has in
// each record, worked out by this package alone and not by the code under test.
package dataset

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// readers of the sets by folder name.
var readers = map[string]func(dir string) ([]*Stream, error){
	"auth-elastic-sshd":          readAuth,
	"dns-zeek-wrccdc":            readDNS,
	"edits-wikipedia-20150912":   readEdits,
	"flow-kdd99-10pct":           readFlow,
	"otlp-logs-loadgen":          readLoadgen,
	"otlp-robotframework":        readRobot,
	"otlp-traces-hipstershop":    readHipstershop,
	"spans-nezha-onlineboutique": readNezha,
	"web-elastic-apache":         readWeb,
	"words-war-and-peace":        readWords,
}

// Names of all sets, sorted.
func Names() []string { return slices.Sorted(maps.Keys(readers)) }

// Find returns the folder of the data sets, which is a sibling of the repository and may be absent.
func Find(repository string) (dir string, ok bool) {
	dir = filepath.Join(repository, "..", "shared", "data")
	info, err := os.Stat(dir)
	return dir, err == nil && info.IsDir()
}

// Read one set of the folder dir.
func Read(dir, name string) ([]*Stream, error) {
	read, ok := readers[name]
	if !ok {
		return nil, fmt.Errorf("dataset: no set is called %q; there are %v", name, Names())
	}
	streams, err := read(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	for _, s := range streams {
		s.Set = name
		s.sort()
	}
	return streams, nil
}
