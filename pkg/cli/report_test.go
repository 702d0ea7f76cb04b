package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

func TestReport(t *testing.T) {
	_, objects := running("mnist", 2)
	for _, o := range objects {
		o.SetNamespace("team-a")
	}
	cases := []struct {
		name   string
		args   []string
		status int
		out    string
		err    string
	}{
		{"a page", []string{"report", "mnist"}, 0, "<title>mnist: TrainingJob</title>", ""},
		{"JSON", []string{"report", "mnist", "-o", "json"}, 0, `"job": "mnist"`, ""},
		{"another form", []string{"report", "mnist", "-o", "pdf"}, 1, "", `--output "pdf": write html or json`},
		{"an unknown job", []string{"report", "mnits"}, 1, "", "did you mean mnist?"},
		{"two jobs", []string{"report", "a", "b"}, 1, "", "is one argument too many"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(interceptor.Funcs{}, objects...)
			if status := s.run(t.Context(), c.args); status != c.status || !strings.Contains(s.out.String(), c.out) || !strings.Contains(s.err.String(), c.err) {
				t.Errorf("status %d, error %q, output %.300q", status, s.err, s.out)
			}
		})
	}
}

// A page on a terminal is of no use to anybody.
func TestReportOnATerminal(t *testing.T) {
	_, objects := running("mnist", 2)
	s := newStage(interceptor.Funcs{}, objects...)
	s.screen.isTerminal = true
	if status := s.run(t.Context(), []string{"report", "mnist"}); status != 1 || !strings.Contains(s.err.String(), "kubectl tj report mnist > mnist.html") {
		t.Errorf("status %d, %s", status, s.err)
	}
}

// A report that lacks Events says so and is made all the same; one that lacks pods is not.
func TestReportWithFewRights(t *testing.T) {
	_, objects := running("mnist", 2)
	for _, o := range objects {
		o.SetNamespace("team-a")
	}
	for kind, want := range map[string]int{"events": 0, "pods": 1} {
		s := newStage(interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			_, isEvents := list.(*corev1.EventList)
			_, isPods := list.(*corev1.PodList)
			if isEvents && kind == "events" || isPods && kind == "pods" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", nil)
			}
			return w.List(ctx, list, options...)
		}}, objects...)
		if status := s.run(t.Context(), []string{"report", "mnist"}); status != want || !strings.Contains(s.err.String(), "forbidden") {
			t.Errorf("without %s: status %d, %s", kind, status, s.err)
		}
	}
}

func TestUIRefusesBadInput(t *testing.T) {
	forbidden := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "trainingjobs"}, "", errors.New(`User "ann" cannot list resource "trainingjobs" in API group "trainingjob.dev" at the cluster scope`))
	}}
	cases := []struct {
		name string
		on   interceptor.Funcs
		args []string
		want string
	}{
		{"a port that is none", interceptor.Funcs{}, []string{"--port", "70000"}, "--port 70000: write one between 1 and 65535"},
		{"a selector that is none", interceptor.Funcs{}, []string{"-l", "a==="}, "write key=value"},
		{"no rights", forbidden, []string{"-A"}, "for the ClusterRole trainingjob-view"},
	}
	for _, c := range cases {
		s := newStage(c.on)
		if status := s.run(t.Context(), append([]string{"ui"}, c.args...)); status != 1 || !strings.Contains(s.err.String(), c.want) {
			t.Errorf("%s: status %d, %s", c.name, status, s.err)
		}
	}
}

// The pages show the jobs that the flags choose, follow what happens to them, and end with the context.
func TestUI(t *testing.T) {
	mine, other := builder.Job("mine", builder.Workers(1), builder.RunsSince(0)), builder.Job("other", builder.Workers(1))
	for _, job := range []*v1alpha1.TrainingJob{mine, other} {
		job.Namespace = "team-a"
	}
	mine.Labels = map[string]string{"team": "vision"}
	s := newStage(interceptor.Funcs{}, mine, other)
	printed, out := io.Pipe()
	s.Out = out
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- s.run(ctx, []string{"ui", "-l", "team=vision"}) }()
	line := make([]byte, 200)
	n, err := printed.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(string(line[:n]))
	list := get(t, address)
	if !strings.Contains(list, "mine") || strings.Contains(list, "other") || !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Errorf("%s shows %s", address, list)
	}
	job := strings.Replace(address, "/?", "/job/team-a/mine?", 1)
	if page := get(t, job); !strings.Contains(page, "<title>mine: TrainingJob</title>") {
		t.Errorf("the job's page: %s", page)
	}
	if page := get(t, strings.Replace(job, "mine", "other", 1)); !strings.Contains(page, "no such job") {
		t.Errorf("the page of a job that was not asked for: %s", page)
	}
	if err := s.kube.Delete(ctx, mine); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); strings.Contains(get(t, address), "mine"); {
		if time.Now().After(deadline) {
			t.Fatal("a deleted job is still shown")
		}
	}
	stop()
	if status := <-ended; status != 0 {
		t.Errorf("status %d, %s", status, s.err)
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
