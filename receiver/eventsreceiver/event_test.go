package eventsreceiver

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTimeOfAnEventIsReadInEveryForm(t *testing.T) {
	s := serve(t, nil, nil)
	for event, want := range map[string]string{ // "": it is rejected
		`"2026-01-02T15:04:05Z"`:           "2026-01-02T15:04:05Z",
		`"2026-01-02T15:04:05.123456789Z"`: "2026-01-02T15:04:05.123456789Z",
		`"2026-01-02T00:30:00+14:00"`:      "2026-01-01T10:30:00Z",
		`"1970-01-01T00:00:01Z"`:           "1970-01-01T00:00:01Z",
		`"1970-01-01T00:00:00Z"`:           "",
		`"1969-12-31T23:59:59Z"`:           "",
		`"2261-12-31T23:59:59Z"`:           "2261-12-31T23:59:59Z",
		`"2262-01-01T00:00:00Z"`:           "",
		`"0000-01-01T00:00:00Z"`:           "",
		`"9999-12-31T23:59:59Z"`:           "",
		`"2026-02-30T00:00:00Z"`:           "",
		`"2026-01-02 15:04:05Z"`:           "",
		`"2026-01-02T15:04:05"`:            "",
		`"2026-01-02"`:                     "",
		`"1700000000"`:                     "",
		`""`:                               "",
		`1`:                                "1970-01-01T00:00:01Z",
		`0.5`:                              "",
		`-1`:                               "",
		`1.7e9`:                            "2023-11-14T22:13:20Z",
		`99999999999`:                      "", // the last second of the year 5138 is beyond what a record can hold
		`9223372036`:                       "2262-04-11T23:47:16Z",
		`9223372037`:                       "",
		`100000000000`:                     "1973-03-03T09:46:40Z", // from 1e11 on milliseconds
		`99999999999999`:                   "",
		`100000000000000`:                  "1973-03-03T09:46:40Z", // from 1e14 on microseconds
		`99999999999999999`:                "",
		`100000000000000000`:               "1973-03-03T09:46:40Z", // from 1e17 on nanoseconds
		`9223372036854775807`:              "2262-04-11T23:47:16.854775807Z",
		`9223372036854775808`:              "",
		`1e309`:                            "",
		`{}`:                               "",
		`[1]`:                              "",
		`false`:                            "",
	} {
		s.sink.Reset()
		_, body := s.post(typeJSON, `{"event_time":`+event+`}`)
		if want == "" {
			assert.Contains(t, body, `"accepted":0`, event)
			assert.Contains(t, body, `is no time; allowed is RFC 3339`, event)
			continue
		}
		assert.Equal(t, []string{want + " {}"}, s.records(), event)
	}
}

// A time from a clock in one of the four units, between 1973 and 2261, is taken for no other.
func TestUnitsOfTimeAreNotMistaken(t *testing.T) {
	s := serve(t, nil, nil)
	for _, year := range []int{1974, 2001, 2026, 2261} {
		at := time.Date(year, 5, 6, 7, 8, 9, 0, time.UTC)
		for _, n := range []int64{at.Unix(), at.UnixMilli(), at.UnixMicro(), at.UnixNano()} {
			s.sink.Reset()
			s.post(typeJSON, fmt.Sprintf(`{"event_time":%d}`, n))
			assert.Equal(t, []string{at.Format(time.RFC3339) + " {}"}, s.records(), "%d", n)
		}
	}
}

func TestANullIsAFieldLikeAnyOther(t *testing.T) {
	s := serve(t, nil, nil)
	for _, event := range []string{`{"a":null,"a":1}`, `{"a":1,"a":null}`, `{"a":null,"a":null}`, `{"o":{"a":null,"a":1}}`} {
		_, body := s.post(typeJSON, event)
		assert.Contains(t, body, `field \"a\": twice`, event)
	}
	var nulls strings.Builder
	for i := range 200 {
		fmt.Fprintf(&nulls, `"f%d":null,`, i)
	}
	for _, event := range []string{`{` + nulls.String() + `"z":1}`, `{"o":{` + nulls.String() + `"z":1}}`} {
		_, body := s.post(typeJSON, event)
		assert.Contains(t, body, "max_fields allows")
	}
	assert.Empty(t, s.records())
	s.post(typeJSON, `{"a":null,"b":{"c":null,"d":[null]}}`)
	assert.Equal(t, []string{none + `{"b":{"d":[null]}}`}, s.records())
}

func TestNumbersAreIntegersWhereTheyCanBe(t *testing.T) {
	s := serve(t, nil, nil)
	for number, want := range map[string]any{
		"9223372036854775807": int64(math.MaxInt64), "-9223372036854775808": int64(math.MinInt64), "-0": int64(0),
		"9223372036854775808": float64(1 << 63), "1.0": 1.0, "1e3": 1000.0, "5e-324": 5e-324, "1e-400": 0.0, "1.7976931348623157e308": math.MaxFloat64,
		strings.Repeat("9", 300): 1e300, "0." + strings.Repeat("3", 10_000): 1.0 / 3,
	} {
		s.sink.Reset()
		_, body := s.post(typeJSON, `{"n":`+number+`}`)
		require.Contains(t, body, `"accepted":1`, number)
		got, _ := s.sink.AllLogs()[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().Get("n")
		assert.Equal(t, want, got.AsRaw(), number)
	}
	for _, number := range []string{"1e309", "-1e309", strings.Repeat("9", 400)} {
		_, body := s.post(typeJSON, `{"n":`+number+`}`)
		assert.Contains(t, body, "is beyond the largest number", number)
	}
	for _, number := range []string{"NaN", "Infinity", "-Infinity", "0x10", "01", "+1", ".5", "1."} {
		status, body := s.post(typeJSON, `{"n":`+number+`}`)
		assert.Equal(t, http.StatusBadRequest, status, number)
		assert.Contains(t, body, "no JSON", number)
		_, body = s.post(typeNDJSON, `{"n":`+number+`}`)
		assert.Contains(t, body, `"error":"no JSON`, number)
	}
}

func TestTextsOfOtherEncodingsAreNoJSON(t *testing.T) {
	s := serve(t, nil, nil)
	for name, text := range map[string]string{"a byte order mark": "\xef\xbb\xbf[{}]", "UTF-16": "\xff\xfe[\x00{\x00}\x00]\x00", "UTF-16, big endian": "\x00[\x00{\x00}\x00]", "zeros": "\x00\x00"} {
		status, body := s.post(typeJSON, text)
		assert.Equal(t, http.StatusBadRequest, status, name)
		assert.Contains(t, body, "no JSON", name)
		status, body = s.post(typeNDJSON, text+"\n{}")
		assert.Equal(t, http.StatusAccepted, status, name)
		assert.Contains(t, body, `"accepted":1,"rejected":[{"index":0,"error":"no JSON`, name)
	}
}

func TestNestingThatNoStackShouldHoldIsRefused(t *testing.T) {
	s := serve(t, nil, nil)
	deep := strings.Repeat(`[`, 1_000_000)
	status, body := s.post(typeJSON, `{"a":`+deep)
	assert.Equal(t, http.StatusBadRequest, status)
	assert.Contains(t, body, "no JSON")
	status, body = s.post(typeNDJSON, `{"a":`+deep[:60_000]+"\n{\"key\":\"a\"}")
	assert.Equal(t, http.StatusAccepted, status)
	assert.Contains(t, body, "values in values, at most 16 deep")
	assert.Equal(t, []string{none + `{"key":"a"}`}, s.records())
}

func TestAMillionEventsInOneRequest(t *testing.T) {
	s := serve(t, func(c *Config) { c.MaxEvents, c.Memory = 1_000_000, 1<<30 }, nil)
	status, body := s.post(typeNDJSON, strings.Repeat("{}\n", 1_000_000))
	assert.Equal(t, http.StatusAccepted, status)
	assert.Contains(t, body, `"accepted":1000000,`)
	assert.Equal(t, 1_000_000, s.sink.LogRecordCount())
	status, body = s.post(typeNDJSON, strings.Repeat("1\r\n", 100_000))
	assert.Equal(t, http.StatusAccepted, status)
	assert.Less(t, len(body), 10_000)
	var got answer
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	assert.Equal(t, 100_000, got.RejectedTotal)
	assert.Equal(t, map[string]int64{"json": 100_000}, s.counted("rejected"))
}
