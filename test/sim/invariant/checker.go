package invariant

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/server"
	"github.com/trainingjob/operator/test/sim/ledger"
	"github.com/trainingjob/operator/test/sim/operator"
	"github.com/trainingjob/operator/test/sim/world"
)

// Checker watches a world and keeps the first violation.
type Checker struct {
	// Wrong is the first violation, "" for none.
	Wrong string
	// Edges are the steps from phase to phase that jobs took.
	Edges map[ledger.Edge]bool
	// Say, if set, hears the story.
	Say func(format string, args ...any)

	world *world.World
	// writer is the decision behind the write that is being checked, nil if it is not an operator's.
	writer *operator.Decision
	jobs   map[types.UID]*history
	// saidNow are the Events of the pass that emitted the last one.
	saidNow said
	// asServed is the look of the Kubeflow job's controller since when the TrainingJob differs from the Kubeflow job, if it does.
	asServed int
}

// place is one life of one slot: what a pod's name says.
type place struct {
	slot state.Slot
	life state.Life
}

// history is what has happened to one job.
type history struct {
	fates   map[place][]*fate
	byPod   map[types.UID]*fate
	uncanny uncannyPods
	first   *v1alpha1.TrainingJob

	creates, outside, moved, resumes, scalings, widest int
	// rogue is the resourceVersion of the latest status that was not the leader's.
	rogue int64

	told, happened map[string]int
	restarts       restarts
	books          books
	begins         begins
	heard          *heard
	rendezvous     map[int]string
	ports          map[int]string
	// inPlace is whether the pods of an attempt are made for restarts in place.
	inPlace map[int]bool
	// answered are the restarts that users asked for and that were made.
	answered map[string]bool
	// retuned is whether a user has changed maxRestarts: a budget may be used up by that.
	retuned  bool
	groups   groups
	backOffs backOffs
	ranks    map[string]state.Slot
	// blames are the incidents by the number of the restart, as the latest status that had room for them shows them; explained is how many were, and
	// wasLost are the nodes that the job avoids because they were lost together with another.
	blames map[int32]v1alpha1.Incident
	// numbers are the numbers of the restarts that the latest status lists.
	numbers   []int32
	explained int
	wasLost   map[string]bool
}

// New returns a checker that watches the world.
func New(w *world.World) *Checker {
	c := &Checker{world: w, jobs: map[types.UID]*history{}, Edges: map[ledger.Edge]bool{}}
	w.Server.Watch(c.hear)
	return c
}

func (c *Checker) violate(format string, args ...any) {
	text := fmt.Sprintf("%v: ", c.world.Clock.Elapsed()) + fmt.Sprintf(format, args...)
	if c.Wrong == "" {
		c.Wrong = text
	}
	if c.Say != nil {
		c.Say("VIOLATION %s", text)
	}
}

// violateAll notes what does not hold of the rules that every history has to keep (test/sim/ledger).
func (c *Checker) violateAll(sentences []string) {
	for _, sentence := range sentences {
		c.violate("%s", sentence)
	}
}

// Violate notes a violation that somebody else has found.
func (c *Checker) Violate(format string, args ...any) { c.violate(format, args...) }

func (c *Checker) of(uid types.UID) *history {
	h := c.jobs[uid]
	if h == nil {
		h = &history{
			fates: map[place][]*fate{}, byPod: map[types.UID]*fate{}, uncanny: uncannyPods{},
			told: map[string]int{}, happened: map[string]int{}, rendezvous: map[int]string{}, ports: map[int]string{}, inPlace: map[int]bool{}, answered: map[string]bool{}, ranks: map[string]state.Slot{},
			restarts: restarts{said: map[int32][]v1alpha1.Incident{}, told: map[int32]int{}},
			books:    books{charges: map[int32]charge{}, stuck: map[int32]bool{}},
			begins:   begins{attempts: map[int]time.Time{}, ran: map[int]bool{}},
			backOffs: backOffs{own: map[state.Slot]row{}},
			blames:   map[int32]v1alpha1.Incident{}, wasLost: map[string]bool{},
			groups: groups{attempts: map[types.UID]int{}, meddled: map[types.UID]bool{}},
		}
		c.jobs[uid] = h
	}
	return h
}

// hear is called after every write.
func (c *Checker) hear(change *server.Change) {
	c.writer = decisionOf(change)
	switch change.Kind {
	case server.Pods:
		c.hearPod(change)
	case server.Jobs:
		c.hearJob(change)
	case server.Services:
		if change.Request.User == operator.User && change.Request.Verb != server.Create {
			c.violate("7 foreign objects: the operator does %s", change.Request)
		}
	case server.PodGroups:
		c.hearGroup(change)
	case server.Nodes:
		c.hearNode(change)
	case server.Secrets:
		if change.Request.User == operator.User && change.Request.Verb != server.Create {
			c.violate("7 foreign objects: the operator does %s", change.Request)
		}
	}
	if change.Kind == server.Nodes && change.Request.User == operator.User {
		c.violate("7 foreign objects: the operator does %s", change.Request)
	}
}

func decisionOf(change *server.Change) *operator.Decision {
	d, _ := change.Request.Note.(*operator.Decision)
	return d
}

func (c *Checker) hearPod(change *server.Change) {
	was, _ := change.Was.(*corev1.Pod)
	is, _ := change.Is.(*corev1.Pod)
	byOperator := change.Request.User == operator.User
	switch {
	case was == nil && byOperator:
		c.checkCreate(change.Request, is, decisionOf(change))
	case byOperator && change.Request.Verb == server.Delete:
		c.checkDelete(change.Request, was, decisionOf(change))
	case byOperator && change.Request.Verb == server.Patch && change.Request.Strategic:
		c.checkRestart(was, is, decisionOf(change))
	case byOperator && change.Request.Verb == server.Patch:
		c.checkPatch(was, is, decisionOf(change))
	case byOperator:
		c.violate("7 foreign objects: the operator does %s", change.Request)
	}
	c.note(was, is, byOperator)
}

func (c *Checker) hearJob(change *server.Change) {
	was, _ := change.Was.(*v1alpha1.TrainingJob)
	is, _ := change.Is.(*v1alpha1.TrainingJob)
	byOperator := change.Request.User == operator.User
	switch {
	case was == nil:
		h := c.of(is.UID)
		h.widest = total(&is.Spec)
	case byOperator && change.Request.Verb == server.Delete:
		c.checkDeleteJob(change.Request, was)
	case byOperator && !change.Request.Status:
		c.violate("7 foreign objects: the operator does %s", change.Request)
	case is == nil:
	case byOperator:
		c.checkStatus(was, is, decisionOf(change))
	default:
		c.hearServed(change.Request, was, is)
		h := c.of(is.UID)
		h.begins.edited = c.world.Clock.Now()
		h.retuned = h.retuned || !equality.Semantic.DeepEqual(was.Spec.Recovery.MaxRestarts, is.Spec.Recovery.MaxRestarts)
		if n := total(&is.Spec); n != total(&was.Spec) {
			h.scalings++
			h.widest = max(h.widest, n)
		}
	}
}
