package local_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/pkg/local"
)

func TestNamesBecomeAddresses(t *testing.T) {
	names := local.NewNames(jobOf(t, "TensorFlow", "true", "PS=2", "Worker=3"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "j-worker-1-a2r0"}}
	if got := names.Address(pod); got != "127.77.1.2" {
		t.Errorf("the address is %s, want 127.77.1.2", got)
	}
	for text, want := range map[string]string{
		"j-worker-0.j.ns.svc:2222":               "127.77.1.1:2222", // the leader
		"j-worker-2.j.ns.svc:2222":               "127.77.1.3:2224",
		"j-ps-1.j.ns.svc.cluster.local:2222":     "127.77.2.2:2226",
		"j-ps-1.j":                               "127.77.2.2",
		"j-ps-1.j.ns":                            "127.77.2.2",
		"[\"j-ps-0.j.ns.svc:1\",\"j-ps-1.j:1\"]": "[\"127.77.2.1:4\",\"127.77.2.2:5\"]",
		"j-ps-1.jay":                             "j-ps-1.jay",
		"my-j-ps-1.j":                            "my-j-ps-1.j",
		"j-ps-2.j":                               "j-ps-2.j", // there are two
		"j-ps-1":                                 "j-ps-1",
		"j.ns.svc":                               "j.ns.svc",
		"http://j-worker-0.j:80/x":               "http://127.77.1.1:80/x",
	} {
		if got := names.Replace(pod, "ANY", text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := names.Replace(pod, "PADDLE_PORT", "36543"); got != "36544" {
		t.Errorf("worker-1 listens at %s, want 36544, where its peers look for it", got)
	}
	pod.Labels = map[string]string{"trainingjob.dev/attempt": "2"}
	paddle := local.NewNames(jobOf(t, "Paddle", "true", "Worker=2"))
	leader := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "j-worker-0-a2r0", Labels: pod.Labels}}
	for text, want := range map[string]string{"j-worker-0.j:36543": "127.77.1.1:36547", "127.0.0.1:36543": "127.0.0.1:36547", "127.0.0.1:80": "127.0.0.1:80"} {
		if got := paddle.Replace(leader, "PADDLE_MASTER", text); got != want {
			t.Errorf("the leader meets its peers in attempt 2 at %s, want %s", got, want)
		}
	}
	trees := local.NewNames(jobOf(t, "XGBoost", "true", "Master=1", "Worker=2"))
	if got := trees.Replace(pod, "DMLC_TRACKER_PORT", "9999"); got != "10005" {
		t.Errorf("all ranks look for the tracker of attempt 2 at %s, want 10005", got)
	}
	for text, want := range map[string]string{"j-worker-2.j:2222": "127.77.1.3:2234", "j-worker-2.j:80": "127.77.1.3:82"} {
		if got := names.Replace(pod, "ANY", text); got != want {
			t.Errorf("in attempt 2 %q becomes %q, want %q", text, got, want)
		}
	}
	if got := names.Ports(); !slices.Equal(got, []int{2222, 2223, 2224, 2225, 2226}) {
		t.Errorf("the ports are %v", got)
	}
}

func TestPagesAreReadFromReplicasAlone(t *testing.T) {
	names := local.NewNames(jobOf(t, "PyTorch", "true", "Master=1", "Worker=2"))
	for ip, want := range map[string]string{"127.77.1.1": "127.77.1.1:9500", "127.77.2.2": "127.77.2.2:9502", "127.77.2.3": "", "127.0.0.1": "", "10.0.0.1": "", "": ""} {
		got, err := names.Page(ip, 9500)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("the page at %q is %v (%v), want %q", ip, got, err, want)
		}
	}
}
