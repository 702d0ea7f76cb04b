//go:build chaos

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/test/sim/ledger"
)

// Where the API server keeps what the tape follows. No kind with much traffic lies between them.
const (
	podKeys = "/registry/pods/"
	jobKeys = "/registry/trainingjob.dev/trainingjobs/"
)

// tape is the history of one namespace: every version of every job and pod, in the order in which they were written.
type tape struct {
	namespace string
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu sync.Mutex
	// next is the revision from which on nothing has been read.
	next     int64
	ledger   *ledger.Ledger
	accounts map[types.UID]*account
	stored   map[string]ledger.Observation
	trouble  string
}

// record begins the tape of a namespace that is still empty.
func record(namespace string) *tape {
	GinkgoHelper()
	ctx, stop := context.WithCancel(context.Background())
	t := &tape{namespace: namespace, stop: stop, ledger: ledger.New(), accounts: map[types.UID]*account{}, stored: map[string]ledger.Observation{}}
	t.next = lab.revision() + 1
	t.running.Go(func() { t.follow(ctx) })
	DeferCleanup(t.end)
	return t
}

// end ends the tape and returns what broke the invariants.
func (t *tape) end() {
	t.stop()
	t.running.Wait()
}

// follow reads until the tape ends, through every death of etcd.
func (t *tape) follow(ctx context.Context) {
	for ctx.Err() == nil && len(t.gaps()) == 0 {
		t.read(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // etcd is dead: it will be back
		}
	}
}

// read opens one watch and reads it to its end.
func (t *tape) read(ctx context.Context) {
	question, err := json.Marshal(map[string]any{"create_request": map[string]any{
		"key": encode(podKeys), "range_end": encode(jobKeys + "~"), "start_revision": strconv.FormatInt(t.next, 10),
	}})
	if err != nil {
		t.fail(err.Error())
		return
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, lab.etcd+"/v3/watch", bytes.NewReader(question))
	if err != nil {
		t.fail(err.Error())
		return
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	for answers := json.NewDecoder(response.Body); ; {
		var n notice
		if answers.Decode(&n) != nil {
			return
		}
		if n.Result.CancelReason != "" || n.Result.CompactRevision != "" {
			t.fail(fmt.Sprintf("the tape has a gap: from revision %d, compacted to %s (%s)", t.next, n.Result.CompactRevision, n.Result.CancelReason))
			return
		}
		for i := range n.Result.Events {
			t.enter(&n.Result.Events[i])
		}
	}
}

func (t *tape) fail(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trouble = why
}

// gaps returns why the tape is no longer complete; empty if it is.
func (t *tape) gaps() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trouble
}

// broken returns the sentences of the ledger that do not hold so far, and why they may not if the tape has a gap.
func (t *tape) broken() []string {
	gaps := t.gaps()
	t.mu.Lock()
	defer t.mu.Unlock()
	if gaps != "" {
		return append([]string{gaps}, t.ledger.Broken...)
	}
	return t.ledger.Broken
}

// compact makes etcd forget all that the tape has read. What it has not read it could not read after a death of etcd.
func (t *tape) compact() {
	GinkgoHelper()
	lab.compact(t.catchUp())
}

// catchUp waits until the tape has read all that was written so far, and returns up to which revision that is.
func (t *tape) catchUp() (revision int64) {
	GinkgoHelper()
	// A Secret is stored between pods and jobs, so the tape passes it.
	marker := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "marker-", Namespace: t.namespace}}
	Eventually(func() error { return kube.Create(context.Background(), marker) }).Should(Succeed())
	revision, err := strconv.ParseInt(marker.ResourceVersion, 10, 64)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.next > revision || t.trouble != ""
	}).Should(BeTrue(), "the tape does not reach revision %d", revision)
	Expect(t.gaps()).To(BeEmpty())
	return revision
}
