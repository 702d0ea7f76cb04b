//go:build chaos

package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const megabyte = 1 << 20

// rememberedEvent is what client-go occupies for each Event of the last 6 to 12 minutes, which it keeps to tell whether the next
// is a repetition. A soak of minutes sees that grow, and must see nothing else.
const rememberedEvent = 4000

var _ = Describe("The operator's memory", Label("full"), func() {
	It("stays flat while jobs come, break and go for minutes", func() {
		p := newPlace()
		address := freeAddress()
		o := startOperator(p.namespace, "--metrics-bind-address", address, "--metrics-secure=false")
		DeferCleanup(o.Kill)
		p.soak(o, time.Minute) // until what is allocated once is allocated
		first, told := leastHeap(address, 15*time.Second), eventsOf(o)
		p.soak(o, 2*time.Minute)
		last := leastHeap(address, 15*time.Second)
		told = eventsOf(o) - told
		say("%d jobs came and went; heap in use %.1f MB after the first minute, %.1f MB after two more, in which %.0f Events were told", len(p.plays), first/megabyte, last/megabyte, told)
		Expect(len(p.plays)).To(BeNumerically(">", 200), "hardly any jobs came: this proves nothing")
		Expect(last).To(BeNumerically("<=", 1.1*first+megabyte+told*rememberedEvent), "the heap grows")
		Expect(p.tape.broken()).To(BeEmpty())
	})

	It("does not pay for 700 foreign ConfigMaps of 900 kB", func() {
		p := newPlace()
		before := idleMemory()
		o := startOperator("") // one that is there when they come
		DeferCleanup(o.Kill)
		Eventually(o.works).Should(BeTrue())
		text := strings.Repeat("x", 900_000)
		var writers errgroup.Group
		writers.SetLimit(4)
		for i := range 700 {
			writers.Go(func() error {
				return kube.Create(context.Background(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("foreign-%d", i), Namespace: p.namespace}, Data: map[string]string{"data": text},
				})
			})
		}
		Expect(writers.Wait()).To(Succeed())
		witness, after := o.resident(), idleMemory()
		say("resident: %.1f MB without them, %.1f MB started with them there, %.1f MB having seen them come", before/megabyte, after/megabyte, witness/megabyte)
		Expect(after-before).To(BeNumerically("<=", 5*megabyte), "an operator that starts")
		Expect(witness-before).To(BeNumerically("<=", 5*megabyte), "an operator that was there")
	})
})

// soak lets jobs come, break and go for so long, and waits until all have gone.
func (p *place) soak(o *operator, howLong time.Duration) {
	GinkgoHelper()
	ctx, stop := context.WithTimeout(context.Background(), howLong)
	defer stop()
	p.harm.begin(200 * time.Millisecond)
	Expect(p.churn(ctx)).To(Succeed())
	p.harm.stop()
	Eventually(func() (n int) {
		p.tape.each(func(a *account) {
			if !a.deleted {
				n++
			}
		})
		return n
	}).Should(BeZero(), "jobs that are not deleted after their time to live")
	Expect(o.Ended).NotTo(BeClosed(), "the operator has ended")
}

// eventsOf returns how many Events the operator has told.
func eventsOf(o *operator) (n float64) {
	GinkgoHelper()
	for _, r := range requests()[o.user] {
		if r.ObjectRef.Resource == "events" && !r.WasRefused() {
			n++
		}
	}
	return n
}

// churn submits jobs that last a second and are deleted two seconds after their end, five a second.
func (p *place) churn(ctx context.Context) error {
	for tick := time.Tick(200 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			play := quick(fmt.Sprint(len(p.plays)))
			play.breakable = []string{"worker"}
			play.job.Spec.RunPolicy.TTLSecondsAfterFinished = ptr.To[int32](2)
			p.add(play)
			if err := kube.Create(ctx, play.job); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// idleMemory returns what an operator of all namespaces with nothing to do occupies, at least, in ten seconds.
func idleMemory() float64 {
	GinkgoHelper()
	o := startOperator("")
	defer o.Kill()
	Eventually(o.works).Should(BeTrue(), "the operator does not start")
	return least(10*time.Second, o.resident)
}

// leastHeap returns the least heap in use within the time: what is left right after a collection.
func leastHeap(address string, within time.Duration) float64 {
	GinkgoHelper()
	return least(within, func() float64 {
		response, err := http.Get("http://" + address + "/metrics")
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if text, found := strings.CutPrefix(lines.Text(), "go_memstats_heap_inuse_bytes "); found {
				bytes, err := strconv.ParseFloat(text, 64)
				Expect(err).NotTo(HaveOccurred())
				return bytes
			}
		}
		Fail("the operator does not tell go_memstats_heap_inuse_bytes")
		return 0
	})
}

func least(within time.Duration, measure func() float64) float64 {
	lowest := measure()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		lowest = min(lowest, measure())
	}
	return lowest
}

// resident returns the operator's resident memory in bytes.
func (o *operator) resident() float64 {
	GinkgoHelper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", o.PID()))
	Expect(err).NotTo(HaveOccurred())
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	Expect(err).NotTo(HaveOccurred())
	return pages * float64(os.Getpagesize())
}

func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return listener.Addr().String()
}
