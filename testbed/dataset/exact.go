package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// Exact is what was counted of one key over a whole stream, or over one window of it, by another program.
type Exact struct {
	Total    uint64  `json:"total"`
	Distinct int     `json:"distinct"`
	Top      []Count `json:"top10"` // at most ten, ties by key
	Next     uint64  `json:"count_11th"`
}

// Count of one key.
type Count struct {
	Key   string
	Count uint64
}

// UnmarshalJSON reads a pair.
func (c *Count) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Key, &c.Count})
}

// ReadExact returns the exact counts of a set, by stream and key.
func ReadExact(dir, name string) (map[string]map[string]Exact, error) {
	data, err := readFile(dir, name, "exact.json")
	if err != nil {
		return nil, err
	}
	var file struct {
		Streams []struct {
			Stream string
			Keys   map[string]Exact
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("dataset %s: %w", name, err)
	}
	out := make(map[string]map[string]Exact)
	for _, s := range file.Streams {
		out[s.Stream] = s.Keys
	}
	return out, nil
}

// Window is the exact counts of one key over a part of a stream: a span of time from Start, or the Rows from First.
type Window struct {
	Exact
	Stream, Key string
	Start       time.Time
	Span        time.Duration
	First, Rows int
}

// UnmarshalJSON reads a line of exact_windows.jsonl.
func (w *Window) UnmarshalJSON(data []byte) error {
	var line struct {
		Exact
		Stream, Key   string
		Window, Start json.RawMessage
	}
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	*w = Window{Exact: line.Exact, Stream: line.Stream, Key: line.Key}
	if string(line.Window) == `"rows"` {
		const rows = 50_000
		w.Rows = rows
		return json.Unmarshal(line.Start, &w.First)
	}
	var seconds int
	err := errors.Join(json.Unmarshal(line.Window, &seconds), json.Unmarshal(line.Start, &w.Start))
	w.Span = time.Duration(seconds) * time.Second
	return err
}

// ReadWindows returns the exact counts of a set's windows.
func ReadWindows(dir, name string) ([]Window, error) {
	data, err := readFile(dir, name, "exact_windows.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		data, err = readFile(dir, name, "exact_windows.jsonl.zst")
	}
	if err != nil {
		return nil, err
	}
	var windows []Window
	for line := range bytes.Lines(data) {
		var w Window
		if err := json.Unmarshal(line, &w); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", filepath.Join(name, "exact_windows.jsonl"), len(windows)+1, err)
		}
		windows = append(windows, w)
	}
	return windows, nil
}

// Of returns the window's key, its texts, and the part [first, end) of them that the window covers.
func (w *Window) Of(streams []*Stream) (key Key, values []string, first, end int) {
	for _, s := range streams {
		for k := range s.Keys {
			key = s.Keys[k]
			if s.Name != w.Stream || key.Name != w.Key {
				continue
			}
			if w.Rows > 0 {
				return key, s.Values[k], w.First, min(w.First+w.Rows, s.Len())
			}
			first, _ = slices.BinarySearch(s.Times, w.Start.UnixNano())
			end, _ = slices.BinarySearch(s.Times, w.Start.Add(w.Span).UnixNano())
			return key, s.Values[k], first, end
		}
	}
	return Key{}, nil, 0, 0
}
