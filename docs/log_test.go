package docs_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The command of log.md prints the restarts of one job, and skips lines that are not JSON.
func TestTheCommandOfTheLogPrintsTheRestarts(t *testing.T) {
	found := regexp.MustCompile(`(?s)jq -Rr '(.*?)'`).FindStringSubmatch(read(t, "log.md"))
	if found == nil {
		t.Fatal("log.md has no command of jq: is the search wrong?")
	}
	jq, err := exec.LookPath("jq")
	if err != nil {
		t.Skip("jq is not installed")
	}
	run := exec.Command(jq, "-Rr", strings.NewReplacer(`"team-a"`, `"team"`, `"mnist"`, `"j"`).Replace(found[1]))
	others := `{"level":"INFO","msg":"starting","version":"dev"}` + "\n" + `{"msg":"incident","job":"j","names` + "\npanic: no JSON\n" +
		`{"msg":"incident","job":"other","namespace":"team","number":9,"incident":{"cause":"OOM"}}` + "\n"
	run.Stdin = strings.NewReader(others + read(t, "../pkg/operator/journal/testdata/lines.txt"))
	out, err := run.CombinedOutput()
	second := "2\tincident\tRetryable\tj-worker-1\tgpu-7\ttrue\t2026-01-05T12:01:00Z\n"
	want := second + "1\tincident explained\tInfrastructure\tj-worker-1\tgpu-7\tfalse\t2026-01-05T12:00:10Z\n" + second
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("error %v, it prints (-want +got):\n%s", err, diff)
	}
}
