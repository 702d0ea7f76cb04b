//go:build linux

package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/folder"
	"github.com/trainingjob/operator/pkg/local/server"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// machine is a kubelet with a loop of its own: the test's goroutine.
type machine struct {
	*Kubelet
	t      *testing.T
	work   chan func()
	dirty  []client.ObjectKey
	last   *corev1.Pod // the last version of a pod that is removed
	mu     sync.Mutex
	output strings.Builder
}

func newMachine(t *testing.T, edit func(*Options)) *machine {
	m := &machine{t: t, work: make(chan func(), 100)}
	o := Options{
		Server: server.New(clock.RealClock{}), Folder: t.TempDir(), Post: func(f func()) { m.work <- f },
		Address:   func(*corev1.Pod) string { return "127.77.1.1" },
		Translate: func(_ *corev1.Pod, _, text string) string { return text },
		Log: func(pod *corev1.Pod, container string) string {
			return pod.Name + "." + container
		},
		Line: func(_ *corev1.Pod, _, text string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.output.WriteString(text + "\n")
		},
	}
	if edit != nil {
		edit(&o)
	}
	if err := folder.Make(o.Folder); err != nil {
		t.Fatal(err)
	}
	o.Server.Watch(func(c *server.Change) {
		if c.Is == nil {
			m.last = c.Was.(*corev1.Pod)
			m.Gone(c.Was.GetUID())
			return
		}
		m.dirty = append(m.dirty, client.ObjectKeyFromObject(c.Is))
	})
	m.Kubelet = New(o)
	t.Cleanup(func() {
		m.Stop(0)
		m.until("all processes have ended", func() bool { return m.Running() == 0 })
	})
	return m
}

// until lets the kubelet work until it is so.
func (m *machine) until(what string, is func() bool) {
	m.t.Helper()
	deadline := time.After(patience)
	for {
		for len(m.dirty) > 0 {
			key := m.dirty[0]
			m.dirty = m.dirty[1:]
			if pod := m.pod(key.Name); pod != nil {
				m.Sync(pod)
			}
		}
		if is() {
			return
		}
		select {
		case f := <-m.work:
			f()
		case <-time.After(10 * time.Millisecond): // for what a test looks at that is no event
		case <-deadline:
			m.t.Fatalf("%s: not within %v\nthe pods printed:\n%s", what, patience, m.printed())
		}
	}
}

func (m *machine) printed() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.output.String()
}

// prints lets the kubelet work until a pod has printed the text.
func (m *machine) prints(text string) {
	m.t.Helper()
	m.until("a pod prints "+text, func() bool { return strings.Contains(m.printed(), text) })
}

func (m *machine) pod(name string) *corev1.Pod {
	pod, _ := m.Server.Get(server.Pods, "ns", name).(*corev1.Pod)
	return pod
}

// create creates a pod on a node.
func (m *machine) create(spec corev1.PodSpec) {
	m.t.Helper()
	spec.NodeName = "node-1"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"a": "b"}}, Spec: spec}
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	m.do(&server.Request{Verb: server.Create, Object: pod})
}

func (m *machine) delete(grace int64) {
	m.t.Helper()
	m.do(&server.Request{Verb: server.Delete, Delete: metav1.DeleteOptions{GracePeriodSeconds: ptr.To(grace)}})
}

func (m *machine) do(r *server.Request) {
	m.t.Helper()
	r.User, r.Kind, r.Key = "test", server.Pods, client.ObjectKey{Namespace: "ns", Name: "p"}
	if _, err := m.Server.Do(r); err != nil {
		m.t.Fatal(err)
	}
}

// ends returns the pod once it has ended.
func (m *machine) ends() *corev1.Pod {
	m.t.Helper()
	m.until("the pod ends", func() bool { return m.pod("p") != nil && isOver(m.pod("p")) })
	return m.pod("p")
}

// gone waits until the pod is removed, and returns its last status.
func (m *machine) gone() *corev1.Pod {
	m.t.Helper()
	m.until("the pod is removed", func() bool { return m.pod("p") == nil && m.Running() == 0 })
	return m.last
}

// shell returns a container that runs a script.
func shell(name, script string) corev1.Container {
	return corev1.Container{Name: name, Image: "registry.example.com/train:1", Command: []string{"sh", "-c", script}}
}

func one(script string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{shell("main", script)}}
}

func mainOf(pod *corev1.Pod) corev1.ContainerStatus { return pod.Status.ContainerStatuses[0] }

// processes returns how many processes have inherited the text in their environment.
func processes(t *testing.T, text string) int {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, folder := range folders {
		if environment, err := os.ReadFile(filepath.Join(folder, "environ")); err == nil && strings.Contains(string(environment), text) {
			n++
		}
	}
	return n
}

func keyOf(pod *corev1.Pod) client.ObjectKey { return client.ObjectKeyFromObject(pod) }
