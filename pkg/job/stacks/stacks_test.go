package stacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainingjob/operator/pkg/job/state"
)

const (
	torch  = "/usr/lib/python3/dist-packages/torch/"
	python = "/usr/lib/python3.11/"
)

func frame(function, file string, line int) string {
	return fmt.Sprintf(`{"function":%q,"file":%q,"line":%d}`, function, file, line)
}

func thread(frames ...string) string {
	return fmt.Sprintf(`{"name":"MainThread","frames":[%s]}`, strings.Join(frames, ","))
}

func page(frames ...string) string {
	return fmt.Sprintf(`{"rank":"1","threads":[%s,%s]}`, thread(frames...), thread(frame("other", "/app/x.py", 1)))
}

func TestWhereARankIs(t *testing.T) {
	slot := state.Slot{Role: "Worker", Index: 2}
	module, train := frame("<module>", "/app/train.py", 90), frame("main", "/app/train.py", 41)
	for name, c := range map[string]struct {
		page string
		want state.Stack
	}{
		"a collective": {page(module, train, frame("wrapper", torch+"distributed/c10d_logger.py", 81), frame("all_reduce", torch+"distributed/distributed_c10d.py", 2501)),
			state.Stack{Where: "all_reduce (train.py:41)", Waits: true}},
		"the end of the backward pass": {page(module, train, frame("_engine_run_backward", torch+"autograd/graph.py", 824)),
			state.Stack{Where: "_engine_run_backward (train.py:41)", Waits: true}},
		"the user's own code": {page(module, train, frame("read", "/app/dataset.py", 88)), state.Stack{Where: "read (dataset.py:88)"}},
		"a loader that polls its processes": {page(module, train, frame("_try_get_data", torch+"utils/data/dataloader.py", 1251), frame("wait", python+"selectors.py", 415)),
			state.Stack{Where: "_try_get_data (train.py:41)"}},
		"a lock of the standard library": {page(module, train, frame("wait", python+"threading.py", 320)), state.Stack{Where: "main (train.py:41)"}},
		"a Python of another place":      {page(module, train, frame("wait", "/root/.pyenv/versions/3.11.7/lib/python3.11/threading.py", 320)), state.Stack{Where: "main (train.py:41)"}},
		"a program without a file":       {page(frame("<module>", "<string>", 12)), state.Stack{Where: "<module> (<string>:12)"}},
		"Python alone":                   {page(frame("_run", "<frozen runpy>", 88)), state.Stack{Where: "_run (<frozen runpy>:88)"}},
		"control letters":                {page(`{"function":"a\nb\u001b[31m\u202e","file":"/app/t.py","line":1}`), state.Stack{Where: "a b [31m (t.py:1)"}},
		"a long name":                    {page(frame(strings.Repeat("x", 200), "/app/"+strings.Repeat("y", 200), 1)), state.Stack{Where: strings.Repeat("x", 48) + " (" + strings.Repeat("y", 48) + ":1)"}},
	} {
		t.Run(name, func(t *testing.T) {
			processes, err := Parse([]byte(c.page))
			c.want.Slot = slot
			if diff := cmp.Diff([]state.Stack{c.want}, Of(slot, processes)); diff != "" || err != nil {
				t.Errorf("error %v, place (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAPodWithSeveralRanks(t *testing.T) {
	body := fmt.Sprintf(`{"rank":"8","threads":[%s],"others":[{"rank":"9","threads":[%s]},{"rank":"10","silent":true}]}`,
		thread(frame("f", "/app/t.py", 1)), thread(frame("g", "/app/t.py", 2)))
	processes, err := Parse([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range Of(state.Slot{Role: "Worker", Index: 1}, processes) {
		got = append(got, fmt.Sprint(s.Name(), " ", s.Where, s.IsSilent))
	}
	if diff := cmp.Diff([]string{"worker-1 rank 8 f (t.py:1)false", "worker-1 rank 9 g (t.py:2)false", "worker-1 rank 10 true"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, page := range []string{
		"", "<html>", "[]", "7", "null", `{}`, `{"threads":[]}`, `{"threads":[{"frames":[]}]}`, `{"time":"2026-01-05T12:00:25Z"}`,
		`{"threads":[{"frames":[{"line":"x"}]}]}`, `{"threads":[{"frames":[{}]}],"others":[{"rank":"1"}]}`,
	} {
		if processes, err := Parse([]byte(page)); err == nil {
			t.Errorf("%s is read as %v", page, processes)
		}
	}
}

// FuzzParse: whatever a page shows, its stacks and the sentence about them are short and printable.
func FuzzParse(f *testing.F) {
	f.Add([]byte(page(frame("f", "/app/t.py", 1))), 3)
	f.Add([]byte(`{"threads":[{"frames":[{"function":"\ud800","file":"/","line":-9223372036854775808}]}],"others":[{"silent":true,"rank":"\n"}]}`), 300)
	f.Fuzz(func(t *testing.T, body []byte, ranks int) {
		processes, err := Parse(body)
		if err != nil {
			return
		}
		s := &state.Stacks{Unasked: ranks}
		for i := range min(max(ranks, 1), 300) {
			s.List = append(s.List, Of(state.Slot{Role: "Worker", Index: i}, processes)...)
		}
		text := Sentence(s)
		if len(text) > 480 || text != state.Printable(text) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
		if suspect := Suspect(s.List); suspect != nil && suspect.Slot.Index >= max(ranks, 1) {
			t.Errorf("the suspect is %v", suspect)
		}
	})
}

// The ranks of these tests: each letter is a rank, and a place.
var places = map[rune]state.Stack{
	'a': {Where: "all_reduce (train.py:41)", Waits: true},
	'b': {Where: "barrier (train.py:55)", Waits: true},
	'r': {Where: "read (dataset.py:88)"},
	'l': {Where: "save (train.py:60)"},
	'.': {IsSilent: true},
	'-': {},
}

func ranks(letters string) (list []state.Stack) {
	for i, letter := range letters {
		s := places[letter]
		s.Slot = state.Slot{Role: "Worker", Index: i}
		list = append(list, s)
	}
	return list
}

func TestSentence(t *testing.T) {
	for letters, want := range map[string]string{
		"":       "",
		"-":      "",
		"..":     "",
		"r":      "worker-0 is in read (dataset.py:88)",
		"aara":   "3 of 4 ranks wait in all_reduce (train.py:41); worker-2 is in read (dataset.py:88)",
		"aaara":  "4 of 5 ranks wait in all_reduce (train.py:41); worker-3 is in read (dataset.py:88)",
		"aaaa.":  "4 of 5 ranks wait in all_reduce (train.py:41); worker-4 does not answer",
		".a.":    "2 of 3 ranks do not answer; worker-1 waits in all_reduce (train.py:41)",
		"a--a":   "worker-0, worker-3 wait in all_reduce (train.py:41); worker-1, worker-2 show no stack",
		"rraa-.": "worker-0, worker-1 are in read (dataset.py:88); worker-2, worker-3 wait in all_reduce (train.py:41); worker-4 shows no stack; worker-5 does not answer",
	} {
		if got := Sentence(&state.Stacks{List: ranks(letters)}); got != want {
			t.Errorf("%s: %q, want %q", letters, got, want)
		}
	}
	many := &state.Stacks{Unasked: 44}
	for i := range 256 {
		many.List = append(many.List, state.Stack{Slot: state.Slot{Role: "Worker", Index: i}, Where: fmt.Sprintf("%s (train.py:%d)", strings.Repeat("f", 48), i)})
	}
	if got := Sentence(many); len(got) > 480 || !strings.HasSuffix(got, "; the others are at 252 more places; 44 more were not asked") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestSuspect(t *testing.T) {
	for letters, want := range map[string]string{
		"":        "",
		"-":       "",
		"r":       "",
		"aa":      "",
		"aara":    "worker-2",
		"ar":      "worker-1", // only one of the two waits
		"ab":      "",
		"lr":      "",
		"a.":      "worker-1",
		"..":      "",
		"..a":     "",
		"aa.r":    "worker-2", // what does not answer comes first
		"aaabaaa": "worker-3", // a rank in another collective
		"aabb":    "",
		"llrl":    "worker-2",
		"llrr":    "",
		"rrra":    "", // three ranks do not all block one
		"aarr":    "worker-2",
		"aa-a":    "",
		"a-r-":    "worker-2",
	} {
		got := ""
		if suspect := Suspect(ranks(letters)); suspect != nil {
			got = suspect.Name()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", letters, got, want)
		}
	}
}
