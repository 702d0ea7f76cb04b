package plan_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/policy"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/api/schema"
	"github.com/trainingjob/operator/test/sim/builder"
)

// TestMakeObeysItsLaws runs jobs through arbitrary histories: each reconcile observes arbitrary pods, the plan's status is
// stored, and time passes.
func TestMakeObeysItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := builder.ArbitraryJob().Draw(t, "job")
		if rapid.IntRange(0, 2).Draw(t, "in a queue") == 0 {
			job.Labels = map[string]string{v1alpha1.LabelQueue: "q"}
		}
		now, numbers := time.Duration(0), lifeNumbers{}
		for range rapid.IntRange(1, 8).Draw(t, "passes") {
			now += time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * second
			job.Spec.Suspend = ptr.To(rapid.IntRange(0, 5).Draw(t, "suspended") == 0)
			request(job, rapid.SampledFrom([]string{"", "", "again", "worker-0: slow", "worker-1", "worker-9", "ps-0: slow"}).Draw(t, "request"))
			job.Finalizers = nil
			if rapid.Bool().Draw(t, "holds quota") {
				job.Finalizers = []string{v1alpha1.FinalizerQuota}
			}
			s := builder.Snapshot(job, builder.ArbitraryPods(job, now).Draw(t, "pods")...)
			p := plan.Make(s)
			if diff := cmp.Diff(p, plan.Make(s)); diff != "" {
				t.Fatalf("another plan for the same snapshot:\n%s", diff)
			}
			checkBooks(t, s, &p)
			numbers.check(t, s, &p)
			checkBounds(t, &p.Status)
			checkDomain(t, s, &p)
			checkRequest(t, s, &p)
			checkQuota(t, s, &p)
			rested := checkAtRest(t, s)
			checkNamed(t, rested)
			checkSuspended(t, rested)
			job = stored(t, s.Job, &p.Status)
		}
	})
}

// request lets a user request a restart, with a text that may have been answered before; not if it is empty.
func request(job *v1alpha1.TrainingJob, words string) {
	if words != "" {
		job.Annotations = maps.Clone(job.Annotations)
		if job.Annotations == nil {
			job.Annotations = map[string]string{}
		}
		job.Annotations["trainingjob.dev/restart"] = words
	}
}

// checkRequest: a request makes one restart, which the same status records as answered. The named replica gets a new pod.
func checkRequest(t *rapid.T, s *state.Snapshot, p *plan.Plan) {
	words, was, is := s.Job.Annotations["trainingjob.dev/restart"], s.Job.Status.Memory.RestartRequest, p.Status.Memory.RestartRequest
	for i := range p.Restarts {
		if p.Restarts[i].Cause == v1alpha1.CauseRequested && (was == words || is != words || len(p.Restarts) > 1) {
			t.Fatalf("%q is requested, %q was answered, now %q is: %+v", words, was, is, p.Restarts[i].Failure)
		}
	}
	for _, step := range p.Steps {
		restart, inPlace := step.(plan.RestartPod)
		if inPlace && slices.ContainsFunc(s.Job.Status.Incidents, func(i v1alpha1.Incident) bool { return i.Cause == v1alpha1.CauseRequested && i.Pod == restart.Name }) {
			t.Fatalf("a user requested the restart of %s, and it restarts in its pod", restart.Name)
		}
	}
}

// checkQuota: a job of a queue does not begin or resume before its admission. A deleted job that holds quota ends every pod, and creates none.
func checkQuota(t *rapid.T, s *state.Snapshot, p *plan.Plan) {
	begins := s.Job.Status.StartTime == nil || s.IsSuspended()
	if begins && s.Job.Labels[v1alpha1.LabelQueue] != "" && len(s.Job.Finalizers) == 0 && newPods(p.Steps) > 0 {
		t.Fatalf("no queue has admitted the job: %v", lines(p.Steps))
	}
	if len(s.Job.Finalizers) == 0 {
		return
	}
	leaving := *s
	leaving.Job = s.Job.DeepCopy()
	leaving.Job.DeletionTimestamp = &metav1.Time{Time: s.Now}
	steps := plan.Make(&leaving).Steps
	for i := range s.Pods {
		ends := func(step plan.Step) bool {
			deletes, is := step.(plan.DeletePod)
			return is && deletes.UID == s.Pods[i].UID
		}
		if s.Pods[i].Deleted.IsZero() && !slices.ContainsFunc(steps, ends) {
			t.Fatalf("%s outlives its deleted job: %v", s.Pods[i].Name, lines(steps))
		}
	}
	if newPods(steps) > 0 {
		t.Fatalf("a deleted job gets pods: %v", lines(steps))
	}
}

// newPods returns how many pods the steps create.
func newPods(steps []plan.Step) int {
	n := 0
	for _, step := range steps {
		if _, is := step.(plan.CreatePod); is {
			n++
		}
	}
	return n
}

// checkDomain: a restart keeps all pods that must share a domain, or none.
func checkDomain(t *rapid.T, s *state.Snapshot, p *plan.Plan) {
	scheduling := s.Job.Spec.Scheduling
	if scheduling == nil || scheduling.Topology == nil || scheduling.Topology.Mode != v1alpha1.TopologyRequired {
		return
	}
	if p.Status.Attempt == s.Job.Status.Attempt || p.Status.Memory.GroupAttempt == nil {
		return
	}
	for r := range s.Replicas() {
		if r.Slot.Role != v1alpha1.Evaluator && r.State != state.Running {
			t.Fatalf("pods go on in their group, and %s is %s", r.Slot, r.State)
		}
	}
}

// lifeNumbers are the lives of each slot, with the numbers that their processes see.
type lifeNumbers map[state.Slot]map[state.Life]int64

// check: of two lives of a slot the later one has the larger number. A pod that was observed on a node had a process.
func (n lifeNumbers) check(t *rapid.T, s *state.Snapshot, p *plan.Plan) {
	pods := plan.Pods(s.Job)
	for _, step := range p.Steps {
		create, isCreate := step.(plan.CreatePod)
		if !isCreate {
			continue
		}
		number, err := strconv.ParseInt(pods(create).Annotations["trainingjob.dev/life-number"], 10, 64)
		if err != nil {
			t.Fatalf("%s has no life number: %v", create.Name, err)
		}
		for life, other := range n[create.Slot] {
			if life.Before(create.Life) && other >= number {
				t.Fatalf("life %v of %s has the number %d, life %v has %d", create.Life, create.Slot, number, life, other)
			}
		}
		if n[create.Slot] == nil {
			n[create.Slot] = map[state.Life]int64{}
		}
		n[create.Slot][create.Life] = number
	}
}

// checkBooks: the written status counts exactly the restarts of the plan.
func checkBooks(t *rapid.T, s *state.Snapshot, p *plan.Plan) {
	was, is := &s.Job.Status, &p.Status
	var whole, charged int32
	for i := range p.Restarts {
		if p.Restarts[i].Scope == v1alpha1.ScopeJob {
			whole++
		}
		if p.Restarts[i].Charged {
			charged++
		}
	}
	if first := s.Job.Annotations["trainingjob.dev/first-attempt"]; first != "" && !s.Is(v1alpha1.ConditionCreated) && is.Attempt != 0 {
		whole += 7 // as the generator's annotation has it
	}
	if is.Attempt-was.Attempt != whole || is.Restarts-was.Restarts != int32(len(p.Restarts)) {
		t.Fatalf("attempt %d to %d, %d to %d restarts, ordered %+v", was.Attempt, is.Attempt, was.Restarts, is.Restarts, p.Restarts)
	}
	if is.ChargedRestarts < 0 || is.ChargedRestarts > was.ChargedRestarts+charged {
		t.Fatalf("%d to %d charged, %d ordered", was.ChargedRestarts, is.ChargedRestarts, charged)
	}
	ended := s.IsFinished() || s.Job.Spec.IsSuspended()
	if ended && len(p.Restarts) > 0 || len(p.Restarts) > 0 && len(p.Steps) > 0 {
		t.Fatalf("%d restarts of a job that has ended or rests %t, with steps %v", len(p.Restarts), ended, lines(p.Steps))
	}
	if s.IsFinished() && (!cmp.Equal(was.Conditions, is.Conditions) || !cmp.Equal(was.Incidents, is.Incidents)) {
		t.Fatalf("a verdict is final (-was +is):\n%s", cmp.Diff(was, is))
	}
}

// checkBounds: a status can be read back, and stays within the limits of the schema.
func checkBounds(t *rapid.T, is *v1alpha1.TrainingJobStatus) {
	if _, err := state.ReadMemory(&v1alpha1.TrainingJob{Status: *is}); err != nil {
		t.Fatalf("the status cannot be read back: %v", err)
	}
	if err := schema.CheckStatus(is); err != nil {
		t.Fatalf("the API server would refuse the status: %v", err)
	}
	if len(is.Incidents) > 10 || len(is.AvoidedNodes) > 16 || len(is.Budgets) > 4 || len(is.Message) > 1024 || len(is.Conditions) > 16 {
		t.Fatalf("%d incidents, %d avoided nodes, %d budgets, a message of %d bytes", len(is.Incidents), len(is.AvoidedNodes), len(is.Budgets), len(is.Message))
	}
	for i, b := range is.Budgets {
		if c := is.Memory.Charges[i]; c.Name != b.Name || int(b.Used) != len(c.Times) || b.Used == 0 {
			t.Fatalf("budget %+v of charges %+v", b, c)
		}
	}
}

// restless is how many reconciles a status may take to settle on an unchanged state: a restart that explains another, a life that
// ends, a suspension that ends.
const restless = 6

// stepReasons are the reasons of Events that a step or its refusal causes.
var stepReasons = []string{v1alpha1.EventDeletionRefused}

// checkNamed: a job that waits for a long-terminating pod names one.
func checkNamed(t *rapid.T, s *state.Snapshot) {
	o := s.Observed
	o.Now, o.FirstLook = o.Now.Add(10*time.Minute), false
	later := checkAtRest(t, builder.New(o))
	status := &later.Job.Status
	if later.IsFinished() || !later.Is(v1alpha1.ConditionCreated) {
		return
	}
	messages := ""
	for _, c := range status.Conditions {
		messages += c.Message + "\n"
	}
	var ending []string
	waits := later.IsSuspended() && !later.Job.Spec.IsSuspended()
	for i := range later.Pods {
		p := &later.Pods[i]
		if !p.Deleted.IsZero() && p.CanRun() && !later.IsLost(p) {
			ending = append(ending, p.Name)
			r := later.Replica(p.Slot)
			waits = waits || r != nil && r.Pod == nil && r.NeedsPod()
		}
	}
	isNamed := func(name string) bool { return strings.Contains(messages, name) }
	if waits && len(ending) > 0 && !later.Is(v1alpha1.ConditionStalled) && !slices.ContainsFunc(ending, isNamed) {
		t.Fatalf("the job waits for %v, and is %s (%s): %s", ending, status.Phase, status.Reason, messages)
	}
}

// checkSuspended: a suspended job ends every process of its pods.
func checkSuspended(t *rapid.T, s *state.Snapshot) {
	if !s.IsSuspended() || s.IsFinished() {
		return
	}
	deleted := map[string]bool{}
	for _, step := range plan.Make(s).Steps {
		if deletes, is := step.(plan.DeletePod); is {
			deleted[deletes.Name] = true
		}
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.CanRun() && !p.Ended && p.Deleted.IsZero() && !deleted[p.Name] {
			t.Fatalf("the job is suspended, and %s runs on: life %v of %v, succeeded %t", p.Name, p.Life, s.Life(p.Slot), p.HasSucceeded())
		}
	}
}

// checkAtRest: when nothing changes any more, soon nothing is written or emitted. It returns the last snapshot.
func checkAtRest(t *rapid.T, s *state.Snapshot) *state.Snapshot {
	at := s
	for range restless {
		p := plan.Make(at)
		if equality.Semantic.DeepEqual(at.Job.Status, p.Status) {
			for _, e := range p.Events {
				if !slices.Contains(stepReasons, e.Reason) {
					t.Fatalf("an Event at rest: %+v", e)
				}
			}
			return at
		}
		o := at.Observed
		o.Job, o.FirstLook = stored(t, at.Job, &p.Status), false
		at = builder.New(o)
	}
	verdict := policy.Judge(at)
	t.Fatalf("after %d passes over the same pods there is something to write still, ruling %d: %s", restless, verdict.Kind, cmp.Diff(at.Job.Status, plan.Make(at).Status))
	return nil
}

// stored returns the job as read back after the status was written.
func stored(t *rapid.T, job *v1alpha1.TrainingJob, status *v1alpha1.TrainingJobStatus) *v1alpha1.TrainingJob {
	t.Helper()
	written := job.DeepCopy()
	written.Status = *status
	read, err := throughJSON(written)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
