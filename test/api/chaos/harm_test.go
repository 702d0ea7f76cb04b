//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/sim/builder"
)

// harm breaks the pods of a place at random, and remembers what it did.
type harm struct {
	place  *place
	random *rand.Rand
	ending context.CancelFunc
	done   sync.WaitGroup

	mu sync.Mutex
	// deleted are the pods deleted while they ran; touched are all that something was done to.
	deleted, touched map[types.UID]bool
	deeds            []deed
}

type deed struct {
	at             time.Time
	pod, job, what string
}

func newHarm(p *place) *harm {
	seed := uint64(GinkgoRandomSeed())
	return &harm{place: p, random: rand.New(rand.NewPCG(seed, seed)), ending: func() {}, deleted: map[types.UID]bool{}, touched: map[types.UID]bool{}}
}

// begin breaks one pod at each tick, until stop.
func (h *harm) begin(every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	h.ending = cancel
	h.done.Go(func() {
		defer GinkgoRecover()
		for tick := time.Tick(every); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				h.one()
			}
		}
	})
	DeferCleanup(h.stop)
}

func (h *harm) stop() {
	h.ending()
	h.done.Wait()
}

// exitCodes are those that a job may restart after.
var exitCodes = []int{1, 137, 139, 143, 255}

// one breaks one pod, if there is one to break: two of three exit, one is deleted.
func (h *harm) one() {
	var exits, losses []*corev1.Pod
	h.place.tape.each(func(a *account) {
		running, started := h.place.plays[a.job.Name].targets(a)
		exits, losses = append(exits, h.untouched(running)...), append(losses, h.untouched(started)...)
	})
	if len(losses) > 0 && h.random.IntN(3) == 0 {
		h.delete(losses[h.random.IntN(len(losses))])
	} else if len(exits) > 0 {
		h.exit(exits[h.random.IntN(len(exits))], exitCodes[h.random.IntN(len(exitCodes))])
	}
}

func (h *harm) untouched(pods []*corev1.Pod) []*corev1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left []*corev1.Pod
	for _, pod := range pods {
		if !h.touched[pod.UID] {
			left = append(left, pod)
		}
	}
	return left
}

// exit makes a pod exit with the code. What becomes of it shows on the tape, whatever the API server answers.
func (h *harm) exit(pod *corev1.Pod, code int) {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:"%d"}}}`, pod.UID, builder.LabPrefix+"exit-code", code)
	err := kube.Patch(context.Background(), pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	h.note(pod, fmt.Sprintf("exit %d", code), code != 0 || err == nil, err)
}

// delete deletes a pod as it was last seen: had it ended meanwhile, it would not be known whether it failed or was lost.
func (h *harm) delete(pod *corev1.Pod) {
	err := kube.Delete(context.Background(), pod.DeepCopy(), client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
	h.note(pod, "delete", true, err)
	if err == nil || (!apierrors.IsConflict(err) && !apierrors.IsNotFound(err)) { // without an answer it may have been done
		h.mu.Lock()
		defer h.mu.Unlock()
		h.deleted[pod.UID] = true
	}
}

func (h *harm) note(pod *corev1.Pod, what string, touched bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		what += ", refused: " + err.Error()
	}
	h.touched[pod.UID] = touched
	h.deeds = append(h.deeds, deed{time.Now(), pod.Name, pod.Labels["trainingjob.dev/job-name"], what})
}

func (h *harm) wasDeleted(pod types.UID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deleted[pod]
}

// on tells what was done to a job's pods.
func (h *harm) on(job string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var text strings.Builder
	for _, d := range h.deeds {
		if d.job == job {
			fmt.Fprintf(&text, "  the test, %s, to %s: %s\n", d.at.Format("15:04:05.000"), d.pod, d.what)
		}
	}
	return text.String()
}

// String says how much was done.
func (h *harm) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	exits, deletions := 0, 0
	for _, d := range h.deeds {
		switch {
		case strings.Contains(d.what, "refused"):
		case strings.HasPrefix(d.what, "delete"):
			deletions++
		default:
			exits++
		}
	}
	return fmt.Sprintf("%d pods were told to exit, %d were deleted by hand", exits, deletions)
}

// goesOn returns when the number of further pods has been broken.
func (h *harm) goesOn(deeds int) {
	GinkgoHelper()
	count := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.deeds)
	}
	before := count()
	Eventually(count).Should(BeNumerically(">=", before+deeds), func() string { return "pods are no longer broken:\n" + h.place.unfinished() })
}
