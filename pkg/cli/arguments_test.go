package cli

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// What is written wrong is answered by one sentence that says what to write.
func TestWhatIsWrittenWrongSaysWhatToWrite(t *testing.T) {
	_, objects := running("mnist", 2)
	for line, want := range map[string]string{
		"status":                           "status needs the NAME of a job: kubectl tj list shows the names.",
		"suspend":                          "suspend needs the NAME of a job",
		"status mnist resnet":              `"resnet" is one argument too many: write kubectl tj status NAME.`,
		"status pod/mnist":                 "pod/mnist is no TrainingJob: write its name, tj/NAME or pytorchjob/NAME.",
		"status tj/":                       "tj/ is no TrainingJob",
		"status mnist --wach":              "kubectl tj status has no flag --wach; did you mean --watch?",
		"logs mnist --tial 3":              "did you mean --tail?",
		"logs mnist --tail x":              `--tail "x": write a whole number.`,
		"logs mnist --since 5":             `--since "5": write a time such as 90s, 10m or 2h.`,
		"logs mnist --tail":                "--tail needs a value",
		"status mnist --colour":            "see kubectl tj status --help",
		"status mnist -z":                  "has no flag -z",
		"statsu mnist":                     "there is no verb statsu; did you mean kubectl tj status?",
		"frobnicate":                       "there is no verb frobnicate: kubectl tj --help lists them.",
		"list nmist":                       "did you mean mnist?",
		"convert":                          "convert what? Give a file with -f FILE, or a job of the cluster with --from-cluster KIND/NAME.",
		"convert mnist":                    `"mnist" is one argument too many`,
		"doctor mnist":                     `"mnist" is one argument too many`,
		"scale mnist":                      "scale to how many workers? Write kubectl tj scale mnist --replicas N.",
		"scale tj/mnist":                   "Write kubectl tj scale mnist --replicas N.",
		"logs mnist --container nope":      "container nope is not valid for pod mnist-worker-0, which has: main.",
		"submit a b --image x":             "-- COMMAND",
		"submit a --image x --elastic 2-3": "write MIN:MAX",
		"logs mnist --rank 7":              "has the ranks 0 to 1",
		"restart mnist wroker-1":           "did you mean worker-1?",
	} {
		s := newStage(interceptor.Funcs{}, objects...)
		status := s.run(t.Context(), strings.Fields(line))
		said := s.err.String()
		if status != 1 || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 || s.out.Len() > 0 {
			t.Errorf("%s: status %d, said %q and %q, want %q in one line", line, status, said, s.out, want)
		}
	}
}

// kubectl's name of a job, with its kind, is taken wherever a name is.
func TestTheKindBeforeAName(t *testing.T) {
	for _, line := range []string{
		"status tj/mnist", "why trainingjob/mnist", "timeline TrainingJob/mnist", "report trainingjobs.trainingjob.dev/mnist", "list tj/mnist", "logs tj/mnist",
		"suspend tj/mnist", "restart tj/mnist worker-0", "plan tj/mnist", "delete trainingjobs/mnist", "submit tj/other --image x --dry-run -- /bin/train",
	} {
		_, objects := running("mnist", 1)
		s := newStage(interceptor.Funcs{}, objects...)
		if status := s.run(t.Context(), strings.Fields(line)); status != 0 {
			t.Errorf("%s: status %d, said %s", line, status, s.err)
		}
	}
}

// A name of a list chooses.
func TestListOfNames(t *testing.T) {
	_, objects := running("mnist", 1)
	_, more := running("resnet", 1)
	s := newStage(interceptor.Funcs{}, append(objects, more...)...)
	if status := s.run(t.Context(), []string{"list", "mnist"}); status != 0 || strings.Contains(s.out.String(), "resnet") || !strings.Contains(s.out.String(), "mnist") {
		t.Errorf("status %d\n%s", status, s.out)
	}
}
