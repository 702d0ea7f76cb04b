package local

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/history"
	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/manager"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/journal"
	"github.com/trainingjob/operator/pkg/operator/progress"
	"github.com/trainingjob/operator/pkg/operator/reads"
	"github.com/trainingjob/operator/pkg/operator/reconcile"
)

// Operator is the client as which the operator writes.
const Operator = "operator"

// operator reconciles one job on the API server in memory.
type operator struct {
	cache   *server.Cache
	cluster *cluster.Cluster
	queue   manager.Queue
	retries workqueue.TypedRateLimiter[client.ObjectKey]
	job     client.ObjectKey
	server  *server.Server
	reads   reads.Reader
	// happened takes the lines of the operator's log, emitted its Events.
	happened func([]journal.Line)
	emitted  func(corev1.Event)
}

// newOperator returns an operator of the job. It has functions run in the caller's loop by post.
func newOperator(s *server.Server, names *Names, lostAfter time.Duration, post func(func())) *operator {
	o := &operator{server: s, job: client.ObjectKeyFromObject(names.job), retries: reconcile.Retries[client.ObjectKey]()}
	o.reads = reads.New(&reads.Settings{Page: progress.NewReader().Read, Clock: clock.RealClock{}, Changed: func(client.ObjectKey) { post(o.queue.Now) }})
	settings := cluster.Options{ // the defaults of the operator's flags, with one request at a time
		Parallel: 1, IsLocal: true, WatchNodes: true, LostAfter: lostAfter, Signals: nodes.DefaultSignals(), Reader: o.reads,
		PageAt: func(p *state.Pod) (netip.AddrPort, error) { return names.Page(p.Page.Address, p.Page.Port) },
	}
	o.cache = s.NewCache(manager.Views(settings.Signals), func(server.Kind) int { return 0 })
	kube := &server.Client{
		Reader: &server.Reader{Source: o.cache, Indexes: manager.Indexes(), Await: func(server.Kind) { o.catchUp() }},
		Send: func(r *server.Request, _ bool) (client.Object, error) {
			r.User = Operator
			return s.Do(r)
		},
	}
	live := &server.Reader{Source: s.Truth()}
	o.cluster = cluster.New(kube, live, recorder{o}, clock.RealClock{}, settings)
	o.queue = manager.Queue{Job: o.job, Clock: clock.RealClock{}, Cluster: o.cluster, Cache: o.cache}
	o.queue.Now()
	o.cache.Heard = o.queue.Changed
	return o
}

// catchUp lets the cache take in all changes.
func (o *operator) catchUp() {
	for _, kind := range server.Kinds {
		o.cache.Advance(kind, o.cache.Behind(kind))
	}
}

// act reconciles the job if that is due, and reports whether it was.
func (o *operator) act(ctx context.Context) bool {
	o.catchUp()
	o.server.Forget(o.cache)
	if !o.queue.IsDue() {
		return false
	}
	o.queue.Clear()
	again, err := reconcile.Pass(ctx, o.cluster, o.job, o.recorded)
	switch {
	case err != nil:
		o.queue.After(o.retries.When(o.job))
	case again > 0:
		o.queue.After(again)
	}
	if err == nil {
		o.retries.Forget(o.job)
	}
	return true
}

func (o *operator) recorded(job *v1alpha1.TrainingJob, p *plan.Plan) {
	o.happened(journal.Lines(history.Between(job, &p.Status, p.Restarts)))
}

// recorder takes the operator's Events about the job.
type recorder struct{ operator *operator }

// Eventf takes an Event.
//
//nolint:revive // the interface of client-go has as many arguments
func (r recorder) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	job, isJob := regarding.(*v1alpha1.TrainingJob)
	if !isJob {
		return
	}
	if len(args) == 1 {
		note, _ = args[0].(string)
	}
	now := metav1.Now()
	r.operator.emitted(corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: job.Namespace, CreationTimestamp: now},
		InvolvedObject: corev1.ObjectReference{Kind: v1alpha1.Kind, Namespace: job.Namespace, Name: job.Name, UID: job.UID},
		Type:           kind, Reason: reason, Action: action, Message: note, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	})
}
