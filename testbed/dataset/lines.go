package dataset

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var (
	webLine  = regexp.MustCompile(`^(\S+) (\S+) (\S+) \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) (\S+) "((?:[^"\\]|\\.)*)"(?: "((?:[^"\\]|\\.)*)")?`) // one line is cut off
	authLine = regexp.MustCompile(`^(\w{3}\s+\d+ \d\d:\d\d:\d\d) (\S+) ([\w./-]+)(?:\[\d+\])?: (.*)$`)
	authUser = regexp.MustCompile(`(?:[Ii]nvalid user|for invalid user|for user|for) (\S*) from (\d+\.\d+\.\d+\.\d+)`)
	authIP   = regexp.MustCompile(`(?:from |rhost=|\[)(\d+\.\d+\.\d+\.\d+)`)
	word     = regexp.MustCompile(`[a-z']+`)
)

// readWeb reads an access log.
func readWeb(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "access.log.zst")
	if err != nil {
		return nil, err
	}
	t := newTable("client_ip", "status", "method", "path", "path_noquery", "referrer", "user_agent")
	for line := range strings.Lines(string(data)) {
		m := webLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("line %q is no request", line)
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", m[4])
		if err != nil {
			return nil, err
		}
		method, rest, _ := strings.Cut(m[5], " ")
		path, _, _ := strings.Cut(rest, " ")
		bare, _, _ := strings.Cut(path, "?")
		t.addAt(at, m[1], m[6], method, path, bare, noDash(m[8]), noDash(m[9]))
	}
	return []*Stream{t.logs("requests")}, nil
}

// noDash is "" for the dash that stands for no value.
func noDash(text string) string {
	if text == "-" {
		return ""
	}
	return text
}

// readAuth reads the log of an SSH server. Its times have no year.
func readAuth(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "auth.log.zst")
	if err != nil {
		return nil, err
	}
	t := newTable("program", "host", "user", "src_ip")
	t.columns[2].empty = true
	for line := range strings.Lines(string(data)) {
		m := authLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("line %q is not of syslog", line)
		}
		at, err := time.Parse("2006 Jan _2 15:04:05", "2017 "+m[1])
		if err != nil {
			return nil, err
		}
		user, ip := "", ""
		if found := authUser.FindStringSubmatch(m[4]); found != nil {
			user, ip = found[1], found[2]
		} else if found := authIP.FindStringSubmatch(m[4]); found != nil {
			ip = found[1]
		}
		t.addAt(at, m[3], m[2], user, ip)
	}
	return []*Stream{t.logs("lines")}, nil
}

// readWords reads the words of a book, a record each.
func readWords(dir string) ([]*Stream, error) {
	data, err := readFile(dir, "pg2600.txt.zst")
	if err != nil {
		return nil, err
	}
	t := newTable("word")
	for _, w := range word.FindAllString(strings.ToLower(string(data)), -1) {
		t.add(w)
	}
	return []*Stream{t.logs("words")}, nil
}
