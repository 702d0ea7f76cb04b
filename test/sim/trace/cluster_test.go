package trace_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/server"
)

const (
	// lemonFactor is how much likelier a lemon dies than another node; one in lemonShare nodes is one.
	lemonFactor, lemonShare = 10, 10
	// noticeAfter is Kubernetes' default time until a silent node is not ready.
	noticeAfter = 50 * time.Second
	// repairAfter is how long a dead node is away.
	repairAfter = 4 * time.Hour
)

// event is something that happens at a time, whatever the operator does.
type event struct {
	at   time.Time
	what func()
}

// cluster is the nodes, the kubelets on them and the scheduler.
type cluster struct {
	*server.Server
	clock  *clock
	chance *rand.Rand
	job    client.ObjectKey
	events []event
	nodes  int
	dead   map[string]bool
	// crashes are how often the program itself crashed; placedOnAvoided and doubled are what must not be.
	crashes, losses, placedOnAvoided, doubled int
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time                  { return c.now }
func (c *clock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

func (c *cluster) after(d time.Duration, what func()) {
	c.events = append(c.events, event{c.clock.now.Add(d), what})
	slices.SortStableFunc(c.events, func(a, b event) int { return a.at.Compare(b.at) })
}

func (c *cluster) do(r *server.Request) {
	if _, err := c.Do(r); err != nil {
		panic(r.String() + ": " + err.Error())
	}
}

func (c *cluster) writeNode(i int, status corev1.ConditionStatus) {
	node, _ := c.Get(server.Nodes, "", nodeName(i)).(*corev1.Node)
	if node = node.DeepCopy(); node == nil {
		node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}
		c.do(&server.Request{User: "node", Verb: server.Create, Kind: server.Nodes, Key: client.ObjectKeyFromObject(node), Object: node})
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(c.clock.now)}}
	c.do(&server.Request{User: "node", Verb: server.Update, Kind: server.Nodes, Status: true, Key: client.ObjectKeyFromObject(node), Object: node})
}

// die takes a node away and lets its peers notice.
func (c *cluster) die(i int) {
	name := nodeName(i)
	if c.dead[name] {
		return
	}
	hit := slices.ContainsFunc(c.running(), func(p *corev1.Pod) bool { return p.Spec.NodeName == name })
	c.dead[name] = true
	if hit {
		c.losses++
		if c.chance.IntN(2) == 0 {
			c.after(time.Second, c.peersCrash)
		}
	}
	c.after(noticeAfter, func() { c.writeNode(i, corev1.ConditionUnknown) })
	c.after(repairAfter, func() {
		delete(c.dead, name)
		c.writeNode(i, corev1.ConditionTrue)
	})
}

// crash ends one rank by its own fault, and then the others.
func (c *cluster) crash() {
	pods := c.running()
	if len(pods) == 0 {
		return
	}
	c.crashes++
	c.exit(pods[c.chance.IntN(len(pods))])
	c.after(2*time.Second, c.peersCrash)
}

// peersCrash ends every rank that runs on a living node: the collective is broken.
func (c *cluster) peersCrash() {
	attempt := c.status().Attempt
	for _, p := range c.running() {
		if p.Labels[v1alpha1.LabelAttempt] == fmt.Sprint(attempt) && p.DeletionTimestamp == nil && c.chance.IntN(4) > 0 {
			c.exit(p)
		}
	}
}

func (c *cluster) exit(p *corev1.Pod) {
	c.writePod(p, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(c.clock.now)},
		}}}
	})
}

func (c *cluster) status() *v1alpha1.TrainingJobStatus {
	job, _ := c.Get(server.Jobs, c.job.Namespace, c.job.Name).(*v1alpha1.TrainingJob)
	return &job.Status
}

func (c *cluster) pods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, o := range c.List(server.Pods) {
		pods = append(pods, o.(*corev1.Pod))
	}
	return pods
}

// running returns the pods whose process truly runs.
func (c *cluster) running() []*corev1.Pod {
	return slices.DeleteFunc(c.pods(), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning || c.dead[p.Spec.NodeName] })
}

func (c *cluster) writePod(p *corev1.Pod, change func(*corev1.Pod)) {
	is := p.DeepCopy()
	change(is)
	c.do(&server.Request{User: "kubelet", Verb: server.Update, Kind: server.Pods, Status: true, Key: client.ObjectKeyFromObject(p), Object: is})
}
