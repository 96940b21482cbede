package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// readDNS reads a log of Zeek: tab-separated, its columns named in a comment, "-" for no value and "(empty)" for an empty one.
func readDNS(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "dns.log.gz")
	if err != nil {
		return nil, err
	}
	t := newTable("client", "server", "server_port", "query", "qtype", "rcode")
	t.columns[3].empty = true
	fields := []string{"id.orig_h", "id.resp_h", "id.resp_p", "query", "qtype_name", "rcode_name"}
	column := make(map[string]int)
	values := make([]string, len(fields))
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if cells[0] == "#fields" {
			for i, name := range cells[1:] {
				column[name] = i
			}
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(cells) != len(column) {
			return nil, fmt.Errorf("a line has %d columns, not %d", len(cells), len(column))
		}
		at, err := unixMicros(cells[column["ts"]])
		if err != nil {
			return nil, err
		}
		for i, name := range fields {
			values[i] = noDash(cells[column[name]])
			if values[i] == "(empty)" {
				values[i] = ""
			}
		}
		t.addAt(at, values...)
	}
	return []*Stream{t.logs("dns")}, nil
}

// unixMicros reads seconds with six decimals, exactly.
func unixMicros(text string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || len(fraction) != 6 {
		return time.Time{}, fmt.Errorf("time %q is not in seconds with six decimals", text)
	}
	return time.UnixMicro(micros), nil
}

// readEdits reads the edits of a Wikipedia, a JSON object a line.
func readEdits(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "wikiticker-2015-09-12-sampled.json.gz")
	if err != nil {
		return nil, err
	}
	t := newTable("page", "user", "channel", "namespace", "isRobot", "country", "city")
	for line := range bytes.Lines(data) {
		var edit struct {
			Time                                                  time.Time
			Page, User, Channel, Namespace, CountryName, CityName string
			IsRobot                                               bool
		}
		if err := json.Unmarshal(line, &edit); err != nil {
			return nil, err
		}
		t.addAt(edit.Time, edit.Page, edit.User, edit.Channel, edit.Namespace, strconv.FormatBool(edit.IsRobot), edit.CountryName, edit.CityName)
	}
	s := t.logs("edits")
	s.needs("page", 32768)
	return []*Stream{s}, nil
}

// readFlow reads connections without time.
func readFlow(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "kddcup.data_10_percent.gz")
	if err != nil {
		return nil, err
	}
	t := newTable("service", "flag", "protocol", "label", "src_bytes", "dst_bytes")
	err = eachRow(data, 42, func(row []string) error {
		t.add(row[2], row[3], row[1], strings.TrimSuffix(row[41], "."), row[4], row[5])
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := t.logs("connections")
	s.Keys, s.Values = s.Keys[:4], s.Values[:4] // the bytes are no keys of their own
	s.addKey("svc_flag_bytes", t.values("service", "flag", "src_bytes", "dst_bytes"),
		logAttribute("service"), logAttribute("flag"), logAttribute("src_bytes"), logAttribute("dst_bytes"))
	return []*Stream{s}, nil
}

// eachRow reads CSV; a row is valid during the call only.
func eachRow(data []byte, columns int, row func([]string) error) error {
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord, r.FieldsPerRecord = true, columns
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = row(cells)
		}
		if err != nil {
			return err
		}
	}
}
