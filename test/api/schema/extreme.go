package schema

import (
	"encoding/json"
	"strings"
)

// numbers are at the edges of Go's types, of what a float can hold, and of what is a whole number.
var numbers = []string{
	"0", "-1", "1", "65535", "65536", "-0.0", "1.0", "1e3", "0.5", "-1.5e-7", "99999999999", "1e10", "2147483647", "2147483648", "2147483648.0", "-2147483648", "-2147483649",
	"9007199254740991.0", "9007199254740993.0", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e19", "-1e19", "1e300",
	"123456789012345678901234567890",
}

// texts are what a type of Go's that decodes text may refuse.
var texts = []string{
	"", " ", "a", "Worker", "null", "true", "ä\u202e\x00\n", strings.Repeat("x", 2000),
	// Numbers and quantities.
	"0", "00", "-1", "+1", "1.", ".", ".5", "+.5", "-.5Mi", "1.5.5", "1Ki", "1ki", "1Zi", "1m", "1e", "1E", "1e3", "1E+3", "1e-3", "1e99", "1e-99", "-1e-99", "1E1.5", "1e.5", "1e100",
	"1e99999999999999999999", "1e-99999999999999999999", "0x10", "1_000", "1e3Ki", "Ki", "e3", "Inf", "NaN", "1 ", " 1", "1\n", "99999999999",
	strings.Repeat("9", 64), strings.Repeat("9", 65), "0." + strings.Repeat("9", 62), strings.Repeat("9", 62) + "Ei", strings.Repeat("9", 61) + "e99", strings.Repeat("9", 500),
	// Times.
	"2026-11-24T08:20:00Z", "2026-11-24T08:20:00.123456789+23:59", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "2999-12-31T23:59:59-23:59", "1000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-11-24t08:20:00z",
	"2026-11-24T08:20:00ZT", "2026-11-24T08:20:00ZThe end", "2026-11-24T08:20:00+99:99", "2026-11-24T08:20:00+24:00", "2026-11-24T08:20:00x5Z", "2026-11-24T08:20:00,5Z", "2026-11-24T08:20:60Z",
	"2026-11-24T24:00:00Z", "2026-02-30T00:00:00Z", "2026-11-24T08:20:00", "2026-11-24", "2026-11-24 08:20:00Z", "10000-01-01T00:00:00Z", "2026-11-24T08:20:00.Z",
	"2026-11-24T08:20:00.1234567890Z", "1h", "-1s",
	// Addresses, base64.
	"::1", "300.1.1.1", "10.0.0.0/99", "===", "YQ=", "{}",
}

// Extremes returns values, in JSON, that the schema of some kind of leaf may accept although Go cannot decode them.
func Extremes() []string {
	all := append([]string{"null", "true", "{}", "[]", "[null]", `["a"]`, `{"a":null}`}, numbers...)
	for _, text := range texts {
		quoted, _ := json.Marshal(text) // of a string there is no error
		all = append(all, string(quoted))
	}
	return all
}
