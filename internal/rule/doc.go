// Package rule turns a rule's text into the key, group, weight and time of a record. It holds the only walk over records.
//
// # Records
//
// A rule counts one kind of record in each of its signals: log records, spans, span events or data points. Its paths say
// which: log. means log records; span. means spans, but where a spanevent. path stands beside it the records are the span
// events and span. is the span of each; datapoint. and metric. mean data points, of all five metric types. resource. and
// scope. go with all of them, so a rule with no other paths names its signals, and traces are spans then.
//
// # Paths
//
// A path is an OTTL path with its context. Attributes by a literal name, and the fields that are one text, number, bool or id,
// are looked up directly, those of the resource, scope, metric or parent span once for all records below. Anything else is
// an OTTL value expression, run for every record. Both give the same text for the same value. As in OTTL, value_int of a data
// point that holds a double is 0.
//
// Besides the converters of OTTL there is Pseudonym(value), which stands for a value without showing it: the first 16 bytes, in
// hexadecimal, of the HMAC-SHA256 of its text with the fleet's seed. A secret in the text of a rule would travel with it.
//
// A record counts, or is counted in Skipped under exactly one reason.
//
// # Text
//
// Keys and group names are text, and one value has the same text on every shard:
//
//	text            itself
//	integer         decimal digits: -7, 200
//	double          the shortest decimal that reads back, as JSON numbers are written (RFC 8785): 0.1, 200, 1e+21; NaN, Infinity,
//	                -Infinity; 0 for both zeros
//	bool            true, false
//	bytes           standard base64, padded
//	list, map       JSON without spaces; map keys in the order of their bytes, of equal ones the first; bytes, NaN and the
//	                infinities are strings there
//	trace, span id  hexadecimal, also where it is all zeros
//	time            RFC 3339 in UTC; a duration is an integer of nanoseconds
//
// A part is missing where there is no such attribute, or the attribute, body or expression has no value. "" is a key.
//
// A composite key is the JSON array of its parts' texts, ["a,b","c"]; only quotes, backslashes and control characters are
// escaped. Every run of bytes that are no UTF-8 becomes one U+FFFD. A key or group name of more than max_key_bytes ends in
// 32 hexadecimal digits, the seeded 128-bit xxh3 of the whole, after as much of its beginning as fits; in a composite key
// the longest parts are, all to the same length.
package rule
