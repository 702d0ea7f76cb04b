package sim_test

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/builder"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// unkind is what half of the storms have beside what all have: jobs with more of the API's fields, and clusters that do more than to end pods.
// Its draws are its own, so that those of the other storms stay.
type unkind struct {
	rng *rand.Rand
	// refused is how the API server answers creates of pods, until when; nil if it takes them.
	refused error
	until   time.Time
	// quota is how many pods there may be, 0 for any number, and webhook whether one changes the pods that are created.
	quota   int
	webhook bool
}

// newUnkind returns what the storm of a seed has more; nil for every other seed.
func newUnkind(seed int64) *unkind {
	rng := rand.New(rand.NewPCG(uint64(seed), 3))
	if rng.IntN(2) == 0 {
		return nil
	}
	return &unkind{rng: rng}
}

// begin draws what the world is like.
func (u *unkind) begin(r *run) {
	r.Habits.SideCarCode = []int32{0, 1, 137}[u.rng.IntN(3)]
	r.Habits.InitCode = []int32{0, 1, 2, 137}[u.rng.IntN(4)]
	if u.webhook = u.rng.IntN(6) == 0; u.webhook {
		r.Count("webhook")
	}
	r.Habits.Forgetful = u.rng.IntN(2) * 2
	r.Habits.Checking = time.Duration(u.rng.IntN(3)*10) * time.Second
	if u.rng.IntN(6) == 0 {
		r.Count("clocks apart")
		for _, node := range nodes {
			r.Skew[node] = time.Duration(u.rng.IntN(121)-60) * time.Minute
		}
	}
}

// own are jobs that only unkind storms have: roles of their own.
var own = [][]builder.JobOption{
	{builder.Workers(2), builder.Replicas("board", 1)},
	{builder.Leader(v1alpha1.Master), builder.Workers(1), builder.Replicas("actor", 2, builder.Scope(v1alpha1.ScopeRole)), builder.Replicas("loader", 1, builder.Policy(v1alpha1.RestartAlways))},
	{builder.Workers(2), builder.Replicas("learner", 1, builder.Scope(v1alpha1.ScopeJob)), builder.AllWorkers()},
	{builder.Workers(2, builder.Scope(v1alpha1.ScopeJob)), builder.Replicas("reader", 2, builder.Policy(v1alpha1.RestartNever)), native},
}

// rules are what a user may write into recovery.rules.
var rules = []v1alpha1.RecoveryRule{
	{Name: "final", ExitCodes: []int32{42}, Cause: v1alpha1.CauseFatal},
	{ExitCodes: []int32{139, 255}, Cause: v1alpha1.CauseInfrastructure},
	{ExitCodes: []int32{143}, Cause: v1alpha1.CausePreempted},
	{ExitCodes: []int32{126, 127, 93}, Cause: v1alpha1.CauseRetryable},
	{ExitCodes: []int32{1}, Cause: v1alpha1.CauseHang},
	{ExitCodes: []int32{134}, Cause: v1alpha1.CauseStartup, Scope: v1alpha1.ScopeReplica},
	{Signals: []int32{6, 9}, Scope: v1alpha1.ScopeJob},
	{Roles: []v1alpha1.Role{v1alpha1.Worker}, Signals: []int32{9, 15}, Scope: v1alpha1.ScopeReplica},
	{Roles: []v1alpha1.Role{v1alpha1.Worker}, ExitCodes: []int32{1}, Scope: v1alpha1.ScopeRole},
	{Roles: []v1alpha1.Role{v1alpha1.PS, v1alpha1.Evaluator}, Cause: v1alpha1.CauseOOM},
	{Roles: []v1alpha1.Role{v1alpha1.Worker, v1alpha1.Master}, Cause: v1alpha1.CauseInfrastructure, Scope: v1alpha1.ScopeReplica},
	{Reasons: []string{"OOMKilled"}, Cause: v1alpha1.CauseRetryable},
	{Reasons: []string{"Evicted"}, Cause: v1alpha1.CauseInfrastructure},
	{Reasons: []string{v1alpha1.ReasonNodeLost, v1alpha1.ReasonDeleted}, Scope: v1alpha1.ScopeJob},
	{Reasons: []string{v1alpha1.ReasonVanished}, Cause: v1alpha1.CauseRetryable},
	{Conditions: []string{"DisruptionTarget"}, Scope: v1alpha1.ScopeJob},
	{ContainerName: "logger", Cause: v1alpha1.CauseRetryable},
	{ContainerName: "main", ExitCodes: []int32{137}, Cause: v1alpha1.CauseOOM},
}

// seconds are limits that a storm is long enough to meet.
func (u *unkind) seconds(least, most int32) *int32 { return ptr.To(least + u.rng.Int32N(most-least+1)) }

// draw is one kind of draw of an unkind storm.
type draw[T any] struct {
	name string
	does T
}

// drawsOfJobs are what a job may have.
var drawsOfJobs = []draw[func(*unkind) builder.JobOption]{
	{"rules", func(u *unkind) builder.JobOption {
		var some []v1alpha1.RecoveryRule
		for range 1 + u.rng.IntN(3) {
			some = append(some, rules[u.rng.IntN(len(rules))])
		}
		return builder.Rules(some...)
	}},
	{"budgets", func(u *unkind) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) {
			r.MaxRestarts, r.MaxOOMRestarts, r.MaxHangRestarts = u.seconds(0, 4), u.seconds(0, 2), u.seconds(0, 2)
			r.NoProgressLimit = u.seconds(0, 3)
			r.SameCrashLimit = r.NoProgressLimit
		})
	}},
	{"windows", func(u *unkind) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) {
			r.WindowSeconds, r.IncidentWindowSeconds = u.seconds(60, 70), u.seconds(0, 90)
		})
	}},
	{"back-off", func(u *unkind) builder.JobOption { return builder.BackOff(u.rng.IntN(8), 8+u.rng.IntN(20)) }},
	{"deadlines", func(u *unkind) builder.JobOption {
		return func(job *v1alpha1.TrainingJob) {
			job.Spec.RunPolicy.ActiveDeadlineSeconds, job.Spec.RunPolicy.StartupDeadlineSeconds = u.seconds(20, 120), u.seconds(5, 35)
			builder.SchedulingTimeout(*u.seconds(10, 60))(job)
		}
	}},
	{"finish grace", func(u *unkind) builder.JobOption { return builder.FinishGrace(*u.seconds(0, 40)) }},
	{"force", func(u *unkind) builder.JobOption {
		return builder.Recovery(func(r *v1alpha1.Recovery) { r.ForceAfterSeconds = u.seconds(0, 20) })
	}},
	{"side-car", func(u *unkind) builder.JobOption {
		watches := u.rng.IntN(2) == 0
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Containers, pod.ShareProcessNamespace = append(pod.Containers, corev1.Container{Name: "logger", Image: "log"}), &watches
		}))
	}},
	{"native side-car", func(*unkind) builder.JobOption { return ofEach(prepared) }},
	{"preflight check", func(u *unkind) builder.JobOption {
		return func(job *v1alpha1.TrainingJob) {
			if ofEach(checked)(job); u.rng.IntN(2) == 0 {
				job.Spec.RunPolicy.StartupDeadlineSeconds = u.seconds(5, 35)
			}
		}
	}},
	{"claim", func(*unkind) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
		}))
	}},
	{"quota of a queue", func(*unkind) builder.JobOption {
		return func(job *v1alpha1.TrainingJob) {
			if metav1.GetControllerOf(job) == nil {
				job.Finalizers = []string{v1alpha1.FinalizerQuota}
			}
		}
	}},
	{"watching check", func(*unkind) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.InitContainers = append(pod.InitContainers, corev1.Container{Name: "preflight-watch", Image: "check", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)})
		}))
	}},
	{"host network", func(*unkind) builder.JobOption {
		return func(job *v1alpha1.TrainingJob) {
			if job.Spec.Framework != v1alpha1.MPI && job.Spec.Progress == nil { // else the container declares the port of the page
				builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.HostNetwork = true }))(job)
			}
		}
	}},
	{"scheduling gate", func(*unkind) builder.JobOption {
		return builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		}))
	}},
	{"preferred domain", func(*unkind) builder.JobOption {
		return builder.Scheduling(func(s *v1alpha1.Scheduling) {
			if s.Topology == nil {
				s.Topology = &v1alpha1.Topology{Key: "rack", Mode: "Preferred"}
			}
		})
	}},
	{"all names", func(*unkind) builder.JobOption {
		return func(job *v1alpha1.TrainingJob) { job.Spec.Network = &v1alpha1.Network{DNSNames: "All"} }
	}},
}

// ofEach changes every role of a job.
func ofEach(change func(v1alpha1.Role) builder.JobOption) builder.JobOption {
	return func(job *v1alpha1.TrainingJob) {
		for _, role := range job.Spec.Roles() {
			change(role)(job)
		}
	}
}

// draw returns a job with some of these.
func (u *unkind) draw(r *run, options []builder.JobOption) []builder.JobOption {
	if u == nil {
		return options
	}
	if u.rng.IntN(5) == 0 {
		r.Count("own roles")
		options = append(options[:3:3], own[u.rng.IntN(len(own))]...)
	}
	for range 1 + u.rng.IntN(3) {
		d := drawsOfJobs[u.rng.IntN(len(drawsOfJobs))]
		r.Count(d.name)
		options = append(options, d.does(u))
	}
	return options
}

// deeds are what an unkind cluster does.
var deeds = []draw[func(*unkind, *storm, *run)]{
	{"a clock jumps", func(u *unkind, _ *storm, r *run) {
		if u.rng.IntN(4) == 0 {
			r.Skew[nodes[u.rng.IntN(len(nodes))]] = time.Duration(u.rng.IntN(5)-2) * time.Second
		}
	}},
	{"creates are refused", func(u *unkind, _ *storm, r *run) {
		u.refused, u.until = refusals[u.rng.IntN(len(refusals))], r.Clock.Now().Add(time.Duration(u.rng.IntN(15))*time.Second)
	}},
	{"a quota for some", func(u *unkind, _ *storm, r *run) {
		u.quota, u.until = 1+u.rng.IntN(4), r.Clock.Now().Add(time.Duration(u.rng.IntN(20))*time.Second)
	}},
	{"a device is tainted", func(u *unkind, _ *storm, r *run) {
		u.withPod(r, func(pod *corev1.Pod) { r.Drain(world.NodeController, pod, "DeletionByDeviceTaintManager") })
	}},
	{"claims are missing", func(_ *unkind, _ *storm, r *run) { r.NoClaims = true }},
	{"no claim is missing", func(_ *unkind, _ *storm, r *run) { r.NoClaims = false }},
	{"a status is edited", func(_ *unkind, _ *storm, r *run) { r.EditStatus() }},
	{"a pod is kept", func(u *unkind, _ *storm, r *run) { u.withPod(r, r.Keep) }},
	{"no pod is kept", func(_ *unkind, _ *storm, r *run) { r.LetGo() }},
	{"gates open", func(_ *unkind, _ *storm, r *run) { r.OpenGates() }},
	{"gates open again", func(_ *unkind, _ *storm, r *run) { r.OpenGates() }},
	{"side-cars end", func(u *unkind, _ *storm, r *run) {
		u.withPod(r, func(pod *corev1.Pod) { r.EndSideCars(pod, []int32{0, 1, 137}[u.rng.IntN(3)]) })
	}},
	{"a node comes back", func(u *unkind, _ *storm, r *run) {
		node := nodes[u.rng.IntN(len(nodes))]
		r.DeleteNode(node)
		r.ReviveNode(node) // as an object of another UID, with its pods
	}},
	{"another template", func(u *unkind, _ *storm, r *run) {
		if job := r.Job(); job == nil || job.Spec.IsSuspended() {
			return
		}
		r.Suspend(true)
		r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) {
			for role, replicas := range spec.ReplicaSpecs {
				replicas.Template.Spec.Containers[0].Image = []string{"train:2", "train:3"}[u.rng.IntN(2)]
				spec.ReplicaSpecs[role] = replicas
			}
		})
		r.Suspend(false)
	}},
	{"other budgets", func(u *unkind, _ *storm, r *run) {
		r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) {
			spec.Recovery.MaxRestarts, spec.Recovery.MaxOOMRestarts = u.seconds(0, 12), u.seconds(0, 4)
		})
	}},
	{"other deadlines", func(u *unkind, _ *storm, r *run) {
		r.EditSpec(func(spec *v1alpha1.TrainingJobSpec) { spec.RunPolicy.ActiveDeadlineSeconds = u.seconds(20, 150) })
	}},
}

// withPod does something to a pod that has a node and is not deleted, if there is one.
func (u *unkind) withPod(r *run, do func(*corev1.Pod)) {
	var some []*corev1.Pod
	for _, pod := range r.Pods() {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !world.IsKept(pod) {
			some = append(some, pod)
		}
	}
	if len(some) > 0 {
		do(some[u.rng.IntN(len(some))])
	}
}

// freeQuota lets a deleted job go that holds the quota of a queue.
func (r *run) freeQuota() {
	if job := r.Job(); job != nil && job.DeletionTimestamp != nil && slices.Contains(job.Finalizers, v1alpha1.FinalizerQuota) {
		r.ReleaseQuota()
	}
}

// tick is a moment in an unkind storm.
func (u *unkind) tick(s *storm, r *run) {
	if u == nil || u.rng.IntN(12) > 0 {
		return
	}
	d := deeds[u.rng.IntN(len(deeds))]
	r.Count(d.name)
	d.does(u, s, r)
}

// calm ends what the cluster does. Gates open as soon as a pod has one.
func (u *unkind) calm(r *run) {
	if u != nil {
		u.refused, u.quota, u.webhook = nil, 0, false
	}
}

// refusals are what API servers and webhooks answer to a create.
var refusals = []error{
	apierrors.NewBadRequest("no"),
	apierrors.NewForbidden(server.Pods.Resource(), "", errQuota),
	apierrors.NewNotFound(server.Pods.Resource(), "a template"),
	apierrors.NewConflict(server.Pods.Resource(), "", errQuota),
	&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "no"}},
	apierrors.NewTooManyRequests("no", 1),
	apierrors.NewInternalError(errQuota),
	apierrors.NewServiceUnavailable("no"),
}

// admit answers creates of pods as the cluster has it.
func (u *unkind) admit(r *run, request *server.Request) error {
	if u == nil || request.User != operator.User || request.Verb != server.Create || request.Kind != server.Pods {
		return nil
	}
	isNow := r.Clock.Now().Before(u.until)
	switch {
	case isNow && u.refused != nil:
		return u.refused
	case isNow && u.quota > 0 && len(r.Pods()) >= u.quota:
		return apierrors.NewForbidden(server.Pods.Resource(), request.Key.Name, errQuota)
	case u.webhook:
		world.Inject(request)
	}
	return nil
}
