package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/fake"
	restclient "k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// answer is what the proxy of a pod answers.
type answer struct {
	body string
	err  error
}

func (a answer) DoRaw(context.Context) ([]byte, error) { return []byte(a.body), a.err }
func (a answer) Stream(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(a.body)), a.err
}

// proxied has the pods of the stage answer for their pages, by the name of the replica.
func proxied(t *testing.T, s *stage, answers map[string]answer) {
	core := fake.NewClientset()
	core.AddProxyReactor("pods", func(action clienttesting.Action) (bool, restclient.ResponseWrapper, error) {
		get := action.(clienttesting.ProxyGetAction)
		if get.GetScheme() != "http" || get.GetPort() != "9500" || get.GetPath() != "stacks" || get.GetNamespace() != "team-a" {
			t.Errorf("a request of %s, port %s, /%s in %s", get.GetScheme(), get.GetPort(), get.GetPath(), get.GetNamespace())
		}
		return true, answers[strings.TrimPrefix(get.GetName(), "mnist-")], nil
	})
	s.connect = func() (*connection, error) {
		return &connection{kube: s.kube, core: core, stacks: proxiedStacks(core), discovery: core.Discovery(), namespace: "team-a"}, nil
	}
}

const (
	waitingPage = `{"rank":"0","threads":[{"name":"MainThread","frames":[{"function":"main","file":"/app/train.py","line":41},
		{"function":"all_reduce","file":"/x/site-packages/torch/distributed/distributed_c10d.py","line":2501}]},{"name":"watchdog","frames":[{"function":"wait","file":"/app/w.py","line":3}]}]}`
	readingPage = `{"rank":"2","threads":[{"name":"MainThread","frames":[{"function":"read","file":"/app/dataset.py","line":88}]}]}`
)

func TestStacks(t *testing.T) {
	_, objects := running("mnist", 5, builder.Page(9500, 600, v1alpha1.StallNotify))
	_, without := running("plain", 1)
	objects = append(objects, without...)
	for _, o := range objects {
		if pod, is := o.(*corev1.Pod); is && strings.HasPrefix(pod.Name, "mnist") {
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: v1alpha1.EnvProgressPort, Value: "9500"})
		}
	}
	forbidden := apierrors.NewForbidden(corev1.Resource("pods/proxy"), "mnist-worker-0", errors.New(`User "ann" cannot get resource "pods/proxy" in API group "" in the namespace "team-a"`))
	answers := map[string]answer{
		"worker-0": {body: waitingPage}, "worker-1": {body: waitingPage}, "worker-2": {body: readingPage},
		"worker-3": {err: fmt.Errorf("reading: %w", context.DeadlineExceeded)},
		"worker-4": {err: errors.New("dial tcp 10.1.2.3:9500: connect: connection refused")},
	}
	denied := map[string]answer{}
	for name := range answers {
		denied[name] = answer{err: forbidden}
	}
	for _, c := range []struct {
		line    string
		answers map[string]answer
		status  int
		want    []string
	}{
		{"stacks mnist", answers, 0, []string{"At this moment the other ranks wait for worker-3.", "worker-0, worker-1 wait in all_reduce (train.py:41)\n", "    /app/train.py:41 in main\n    /x/site-packages/torch",
			"worker-2 is in read (dataset.py:88)\n    /app/dataset.py:88 in read", "worker-3 does not answer\n", "worker-4 shows no stack\n    dial tcp 10.1.2.3:9500: connect: connection refused"}},
		{"stacks mnist --replica worker-1", answers, 0, []string{"worker-1, thread MainThread:\n    /app/train.py:41 in main", "worker-1, thread watchdog:\n    /app/w.py:3 in wait"}},
		{"stacks mnist --rank 2", answers, 0, []string{"worker-2, thread MainThread:\n    /app/dataset.py:88 in read"}},
		{"stacks mnist --rank 3", answers, 1, []string{"worker-3 does not answer"}},
		{"stacks mnist --rank 4", answers, 1, []string{"worker-4 shows no stacks: dial tcp"}},
		{"stacks mnist --rank 9", answers, 1, []string{"mnist has the ranks 0 to 4"}},
		{"stacks mnist --replica wroker-1", answers, 1, []string{"did you mean worker-1?"}},
		{"stacks mnist -o xml", answers, 1, []string{"write json"}},
		{"stacks plain", answers, 1, []string{"plain has no spec.progress.port", "progress: {port: 9500}"}},
		{"stacks mnist", denied, 1, []string{"you may not get pods/proxy in namespace team-a: ask an administrator for the ClusterRole edit"}},
	} {
		t.Run(c.line, func(t *testing.T) {
			s := newStage(interceptor.Funcs{}, copies(objects)...)
			proxied(t, s, c.answers)
			status := s.run(t.Context(), strings.Fields(c.line))
			said := s.out.String() + s.err.String()
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("it prints\n%s\nwant %q", said, want)
				}
			}
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
		})
	}
	s := newStage(interceptor.Funcs{}, copies(objects)...)
	proxied(t, s, answers)
	var out struct {
		Sentence, Suspect string
		Ranks             []struct {
			Replica string
			Rank    int
			Silent  bool
		}
	}
	if status := s.run(t.Context(), []string{"stacks", "mnist", "-o", "json"}); status != 0 || json.Unmarshal(s.out.Bytes(), &out) != nil {
		t.Fatalf("status %d: %s%s", status, s.out, s.err)
	}
	if out.Suspect != "worker-3" || len(out.Ranks) != 5 || !out.Ranks[3].Silent || !strings.Contains(out.Sentence, "worker-3 does not answer") {
		t.Errorf("the output is %+v", out)
	}
}

func copies(objects []client.Object) (list []client.Object) {
	for _, o := range objects {
		list = append(list, o.DeepCopyObject().(client.Object))
	}
	return list
}
