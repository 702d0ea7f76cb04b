package cluster

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/pkg/operator/reads"
	"github.com/trainingjob/operator/test/sim/builder"
)

// fenced is a cluster whose API server has an address.
func fenced(ports progress.Ports) *Cluster {
	fence := progress.Fence{Addresses: progress.ServerAddresses("https://10.96.0.1"), NodePorts: ports}
	return New(nil, nil, nil, testclock.NewFakePassiveClock(builder.Epoch), Options{Parallel: 1, Fence: fence})
}

func TestThePageOfRank0IsReadWhileItRuns(t *testing.T) {
	run := func(change ...builder.PodOption) []builder.PodOption {
		return append([]builder.PodOption{builder.Edit(func(pod *corev1.Pod) {
			pod.Status.PodIP, pod.Status.HostIP = "10.1.2.3", "192.168.0.1"
			pod.Annotations = map[string]string{v1alpha1.AnnotationLifeNumber: "4"}
		})}, change...)
	}
	edit := func(change func(*corev1.Pod)) builder.PodOption { return builder.Edit(change) }
	const mustHold = "with hostNetwork the page is read only while the main container runs and names the port 9500 in its ports, without hostIP"
	for name, c := range map[string]struct {
		phase   corev1.PodPhase
		pod     []builder.PodOption
		address string
		unread  string
	}{
		"it runs":                        {corev1.PodRunning, run(), "10.1.2.3:9500", ""},
		"it starts":                      {corev1.PodPending, run(), "", ""},
		"it has failed":                  {corev1.PodFailed, run(builder.Exit(1)), "", ""},
		"it was created before the page": {corev1.PodRunning, run(builder.MadeWith()), "", ""},
		"it is on the host network, without the port": {corev1.PodRunning, run(onHost()), "", mustHold},
		"it is on the host network, and starts": {corev1.PodRunning, run(builder.MadeWith("PORT"), edit(func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }), declares(9500)),
			"", mustHold},
		"it is on the host network, with the port": {corev1.PodRunning, run(onHost(), declares(9500)), "10.1.2.3:9500", ""},
		"it has the address of its node": {corev1.PodRunning, run(edit(func(pod *corev1.Pod) { pod.Status.PodIP = "192.168.0.1" })), "",
			"the pod has no address of its own"},
		"it has the address of the API server": {corev1.PodRunning, run(edit(func(pod *corev1.Pod) { pod.Status.PodIP = "10.96.0.1" })), "",
			"the pod's address 10.96.0.1 is the address of the API server"},
	} {
		t.Run(name, func(t *testing.T) {
			s := builder.Snapshot(builder.Job("j", builder.Workers(2), builder.Page(9500, 60, v1alpha1.StallRestart)), inPhase(c.phase, c.pod))
			r := s.Reads()
			var want *reads.Page
			if c.address != "" || c.unread != "" {
				p := &s.Pods[0]
				want = &reads.Page{Job: s.Job.UID, Pod: p.UID, Life: p.Life, Process: p.Began, Unread: c.unread, Every: 3 * time.Second}
				if c.address != "" {
					want.Address = netip.MustParseAddrPort(c.address)
				}
			}
			same := cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })
			if diff := cmp.Diff(want, fenced(progress.Ports{}).wanted(s, &r).Page, same); diff != "" {
				t.Errorf("the page (-want +got):\n%s", diff)
			}
		})
	}
}

// A port that an administrator forbids on nodes is not read, neither for reports nor for stacks, and the job shows why.
func TestAForbiddenPortOfNodesIsNotRead(t *testing.T) {
	ports, err := progress.ParsePorts([]string{"9500"})
	if err != nil {
		t.Fatal(err)
	}
	job := builder.Job("j", builder.Workers(1), builder.Page(9500, 60, v1alpha1.StallRestart), builder.RunsSince(0))
	s := builder.Snapshot(job, builder.Now(200*time.Second), builder.Read(200*time.Second),
		builder.Running("worker", 0, onHost(), declares(9500), builder.Edit(func(pod *corev1.Pod) { pod.Status.PodIP = "192.168.0.7" })))
	r := s.Reads()
	w := fenced(ports).wanted(s, &r)
	if len(r.Stacks) != 1 || len(w.Ranks) != 0 || w.Page == nil || w.Page.Unread != "the operator's --forbidden-page-ports forbids the port 9500 of the page with hostNetwork: choose another progress.port" {
		t.Errorf("the page %+v is read, and %v of %d ranks for stacks", w.Page, w.Ranks, len(r.Stacks))
	}
}

// onHost puts the pod on the network of its node, and lets its main container run.
func onHost() builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) {
		pod.Spec.HostNetwork = true
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
}

// declares names the port in the ports of the main container.
func declares(port int32) builder.PodOption {
	return builder.Edit(func(pod *corev1.Pod) { pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port}} })
}

func inPhase(phase corev1.PodPhase, pod []builder.PodOption) builder.SnapshotOption {
	return map[corev1.PodPhase]func(string, int, ...builder.PodOption) builder.SnapshotOption{
		corev1.PodPending: builder.Pending, corev1.PodRunning: builder.Running, corev1.PodFailed: builder.Failed,
	}[phase]("worker", 0, pod...)
}

// The operator asks the ranks that run of a job that is to restart for a hang, and applies the refusals of the page to each.
func TestWhoIsAskedForStacks(t *testing.T) {
	at := func(ip string) builder.PodOption {
		return builder.Edit(func(pod *corev1.Pod) { pod.Status.PodIP, pod.Status.HostIP = ip, "192.168.0.1" })
	}
	now := 200 * time.Second
	for name, c := range map[string]struct {
		action  v1alpha1.StallAction
		read    time.Duration
		workers int
		want    []string
		unasked int
	}{
		"a job that hangs":                          {v1alpha1.StallRestart, now, 5, []string{"worker-0", "worker-1"}, 0},
		"a job that makes progress":                 {v1alpha1.StallRestart, 0, 5, nil, 0},
		"a job that does not restart":               {v1alpha1.StallNotify, now, 5, nil, 0},
		"a job with more ranks than the limit":      {v1alpha1.StallRestart, now, 300, nil, 300 - 3 - reads.MaxStacks},
		"a job with as many ranks as the limit has": {v1alpha1.StallRestart, now, reads.MaxStacks + 3, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			job := builder.Job("j", builder.Workers(c.workers), builder.Evaluators(1), builder.Page(9500, 60, c.action), builder.RunsSince(0))
			pods := []builder.SnapshotOption{builder.Now(now), builder.Read(c.read), builder.Running("evaluator", 0, at("10.1.0.9")), builder.Running("worker", 0, at("10.1.0.0")),
				builder.Running("worker", 1, at("10.1.0.1")), builder.Running("worker", 2, at("192.168.0.1")), builder.Running("worker", 3, at("10.96.0.1")),
				builder.Running("worker", 4, at("10.1.0.4"), builder.MadeWith())}
			for i := 5; i < c.workers; i++ {
				pods = append(pods, builder.Running("worker", i, at("10.1.1.1")))
			}
			s := builder.Snapshot(job, pods...)
			r := s.Reads()
			w := fenced(progress.Ports{}).wanted(s, &r)
			var asked []string
			for _, rank := range w.Ranks {
				asked = append(asked, rank.Slot.String())
			}
			if c.workers > 5 {
				if len(asked) != reads.MaxStacks {
					t.Errorf("%d ranks are asked, want %d", len(asked), reads.MaxStacks)
				}
			} else if diff := cmp.Diff(c.want, asked); diff != "" {
				t.Errorf("ranks (-want +got):\n%s", diff)
			}
			if w.Unasked != c.unasked {
				t.Errorf("%d ranks are not asked, want %d", w.Unasked, c.unasked)
			}
		})
	}
}
