package advice

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// situations are the variables of tables.go that are advice. TestEveryAdviceIsRendered finds one that is not here.
var situations = map[string]Advice{
	"ReadLog": ReadLog, "Stopped": Stopped, "OtherCluster": OtherCluster, "Unseen": Unseen, "Suspended": Suspended, "Restarting": Restarting, "Shrinkable": Shrinkable,
	"HeldBack": HeldBack, "NoStacks": NoStacks, "NoProgress": NoProgress, "NoProgram": NoProgram, "Unread": Unread, "BadCheck": BadCheck, "PodDeadline": PodDeadline, "Kubelets": Kubelets, "Queued": Queued,
	"changeTemplate": changeTemplate, "waitForRoom": waitForRoom, "checkQuota": checkQuota, "createMissing": createMissing, "checkStart": checkStart, "Finished": Finished,
}

// all returns every advice, by a name of its row. A Kubeflow job alone lacks fields.
func all(kind string) map[string]Advice {
	rows := map[string]Advice{}
	if kind != "" {
		rows["a field that an annotation sets"], rows["a field of a TrainingJob"] = Lacking("recovery.maxRestarts"), Lacking("scheduling.gang")
	}
	for name, a := range situations {
		rows[name] = a
	}
	for i, table := range []Table{Stalls, Waits, Failures} {
		for _, each := range table {
			rows[fmt.Sprint(i, each.reasons)] = each.advice
		}
	}
	for _, m := range messages {
		rows[m.pattern.String()] = named(m.advice, "data")
	}
	for cause, a := range Causes {
		rows["cause "+string(cause)] = a
	}
	for code, a := range Codes {
		rows[fmt.Sprint("exit code ", code)] = a
	}
	return rows
}

// named returns advice about a name in a message.
func named(a Advice, found string) Advice {
	a = slices.Clone(a)
	for i := range a {
		a[i].found = found
	}
	return a
}

var facts = map[string]string{
	"pod": "mnist-worker-1", "node": "gpu-7", "rank": "1", "attempt": "2", "queue": "vision", "cluster": "west", "held": "2 replicas", "least": "2",
}

// A reader is a job, the commands that exist for it, and a word that it must not see.
var readers = map[string]struct {
	Reader
	commands, never *regexp.Regexp
}{
	"a TrainingJob": {Reader{Namespace: "team-a", Job: "mnist"},
		regexp.MustCompile(`^(tj (doctor|submit -f FILE|(VERBS) -n team-a mnist)|(get|describe|create|exec|apply|uncordon)|edit tj -n team-a mnist)\b`), regexp.MustCompile(`PyTorchJob|pytorchjob`)},
	"a Kubeflow job": {Reader{Namespace: "team-a", Job: "mnist", Kind: "PyTorchJob"},
		regexp.MustCompile(`^(tj (doctor|convert -n team-a --from-cluster pytorchjob/mnist|(VERBS) -n team-a pytorchjob/mnist)|(get|describe|create|exec|apply|uncordon)|(edit|delete) pytorchjob -n team-a mnist)\b`),
		regexp.MustCompile(`edit tj|submit`)},
	"a JobSet": {Reader{Namespace: "team-a", Job: "mnist", Kind: "JobSet"},
		regexp.MustCompile(`^(tj (doctor|submit -f FILE|(delete|VERBS) -n team-a jobset/mnist)|(get|describe|create|exec|apply|uncordon)|edit jobset -n team-a mnist)\b`),
		regexp.MustCompile(`PyTorchJob|edit tj|delete jobset|convert|while the job is suspended`)},
	"a local run": {Reader{Namespace: "team-a", Job: "mnist", Folder: "/tmp/my run"},
		regexp.MustCompile(`^tj (run FILE|(list|logs|report|stacks|status|timeline|ui|why) --local '/tmp/my run'( mnist)?)`), regexp.MustCompile(`-n team-a|doctor|PyTorchJob`)},
}

// verbs are those with a section in the manual.
func verbs(t *testing.T) string {
	manual, err := os.ReadFile("../../../docs/kubectl-tj.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(string(manual), -1) {
		found = append(found, regexp.MustCompile(`\b[a-z]+\b`).FindAllString(heading[1], -1)...)
	}
	return strings.Join(found, "|")
}

// Each row has words for each reader, and no command that does not exist for the reader.
func TestEveryAdviceForEveryReader(t *testing.T) {
	known := verbs(t)
	for whose, r := range readers {
		commands, seen := regexp.MustCompile(strings.ReplaceAll(r.commands.String(), "VERBS", known)), 0
		for row, a := range all(r.Kind) {
			text := r.Text(a, facts)
			if r.never.MatchString(text) || strings.Contains(text, "  ") {
				t.Errorf("%s: %s gets %q", row, whose, text)
			}
			for _, part := range strings.Split(text, "kubectl ")[1:] {
				if seen++; !commands.MatchString(part) {
					t.Errorf("%s: %s has no command %q", row, whose, part)
				}
			}
			for _, s := range a {
				if s.Verb == (Verb{}) && !strings.Contains(text, strings.Split(s.Text, "$")[0]) {
					t.Errorf("%s: %s does not get %q", row, whose, s.Text)
				}
			}
		}
		if seen < 10 {
			t.Errorf("%s sees %d commands: this shows nothing", whose, seen)
		}
	}
}

// Each sentence is for a reader, shows its command, and names a field that the kinds of Kubeflow lack as its field.
func TestEverySentenceIsWhole(t *testing.T) {
	own := regexp.MustCompile(`\b(recovery|scheduling|progress|elastic|network)\.[a-zA-Z]`)
	for row, a := range all("") {
		if !slices.ContainsFunc(a, func(s Sentence) bool { return s.Field != "" }) && own.MatchString(fmt.Sprint(a)) {
			t.Errorf("%s: a Kubeflow job does not have the field of %q", row, a)
		}
		for _, s := range a {
			for _, name := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(s.Args+" "+s.Text, -1) {
				if _, isFact := facts[name[1]]; !isFact && !slices.Contains([]string{"do", "field", "found", "place", "name", "Kind"}, name[1]) {
					t.Errorf("%s: %s has no value", row, name[0])
				}
			}
			if strings.Contains(s.Text, "$do") != (s.Verb != Verb{}) || s.Args != "" && s.Verb == (Verb{}) || strings.Contains(s.Text, "$field") != (s.Field != "") {
				t.Errorf("%s: %+v", row, s)
			}
		}
	}
}

func TestEveryAdviceIsRendered(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "tables.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 {
			return true
		}
		if call, is := spec.Values[0].(*ast.CallExpr); is {
			maker := fmt.Sprint(call.Fun)
			if _, isListed := situations[spec.Names[0].Name]; !isListed && maker != "everywhere" && maker != "onClusters" {
				t.Errorf("%s is not among the situations", spec.Names[0])
			}
		}
		return true
	})
}

func TestCommands(t *testing.T) {
	for want, got := range map[string]string{
		"kubectl tj logs -n team-a mnist --rank 1": Reader{Namespace: "team-a", Job: "mnist"}.Command(Logs, "--rank", "1"),
		"kubectl tj list":                          Reader{}.Command(List),
		"kubectl tj status --local /r j":           Reader{Job: "j", Namespace: "default", Folder: "/r"}.Command(Status),
		"kubectl tj list --local '/it'\\''s'":      Reader{Folder: "/it's"}.Command(List),
		"":                                         Reader{Folder: "/r"}.Command(Describe, "nodes"),
		"Create it: kubectl create serviceaccount -n a $(rm). Or correct serviceAccountName in the template. The operator retries.": Reader{Namespace: "a"}.Text(
			named(ofAdmission[1].advice, "$(rm)"), nil),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
