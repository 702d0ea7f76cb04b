package story

import (
	"regexp"
	"slices"
	"testing"

	"github.com/trainingjob/operator/test/sim/builder"
)

// works matches a command that works without a cluster, with the folder of the run and the name of the job.
var works = regexp.MustCompile(`^kubectl tj (?:run FILE|(?:logs|stacks|status|why) --local '/tmp/my run' mnist)\b`)

func TestAdviceInALocalRunNeedsNoCluster(t *testing.T) {
	v := &View{Job: builder.Job("mnist", builder.Workers(2)), Local: "/tmp/my run", Now: builder.Epoch}
	s, err := v.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{changeTemplate, readLog, submitAgain, waitForQueue + "q", "Start it again: kubectl tj resume -n NS NAME"}
	for _, a := range slices.Concat(stalls, waits, failures) {
		texts = append(texts, a.text)
	}
	for _, m := range messages {
		texts = append(texts, m.text)
	}
	for _, text := range causes {
		texts = append(texts, text)
	}
	for _, text := range codes {
		texts = append(texts, text)
	}
	commands := 0
	for _, text := range texts {
		for _, got := range fill(v, s, v.inWordsOfLocalRuns([]string{text})) {
			for _, at := range regexp.MustCompile(`kubectl`).FindAllStringIndex(got, -1) {
				if commands++; !works.MatchString(got[at[0]:]) {
					t.Errorf("%q becomes %q", text, got)
				}
			}
		}
	}
	if commands < 5 {
		t.Errorf("%d commands are left, want those that work", commands)
	}
}

func TestTextsOfALocalRun(t *testing.T) {
	for text, want := range map[string]string{
		"See kubectl tj status j.":                                             "See kubectl tj status --local /r j.",
		"See all with kubectl tj list -A":                                      "See all with kubectl tj list --local /r",
		"kubectl tj list -n default shows the jobs":                            "kubectl tj list --local /r shows the jobs",
		"It ended. It may be a hook: kubectl describe pod j-0. Last words: x":  "It ended. Last words: x",
		"It has no page. Write progress.port. Or use kubectl exec -- py-spy":   "It has no page. Write progress.port.",
		"Read its log: kubectl tj logs -n team-a j --rank 0 --attempt 1, then": "Read its log: kubectl tj logs --local /r j --rank 0 --attempt 1, then",
	} {
		if got := Locally(text, "/r"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := Locally(text, ""); got != text {
			t.Errorf("in a cluster %q becomes %q", text, got)
		}
	}
}
