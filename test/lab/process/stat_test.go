package process

import (
	"testing"
)

func TestParseStat(t *testing.T) {
	const after = "S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 0 0"
	for _, test := range []struct {
		name, line string
		want       stat
		wantError  bool
	}{
		{name: "an ordinary name", line: "7 (etcd) " + after, want: stat{"S", 123456}},
		{name: "a name with a space and parentheses", line: "7 (a) b (c) " + after, want: stat{"S", 123456}},
		{name: "a line cut short", line: "7 (etcd) S 1 7", wantError: true},
		{name: "nothing", line: "", wantError: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseStat(test.line)
			if (err != nil) != test.wantError || got != test.want {
				t.Errorf("got %+v, error %v; want %+v, error %t", got, err, test.want, test.wantError)
			}
		})
	}
}
