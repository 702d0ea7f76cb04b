//go:build chaos

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

var _ = Describe("Manifests", Label("full"), func() {
	It("may be hostile, a thousand of them: each is refused with a sentence or taken on, and nobody else notices", func() {
		p := newPlace()
		o := startOperator(p.namespace)
		DeferCleanup(o.Kill)
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 1))
		attacks := make([]*attack, 0, 1000)
		for i := range cap(attacks) {
			attacks = append(attacks, newAttack(i, random))
		}
		p.launch(attacks)
		var refused, stalled, accepted int
		for _, a := range attacks {
			switch a.want {
			case isRefused:
				refused++
			case isStalled:
				stalled++
			default:
				accepted++
			}
		}
		Eventually(func() []string { return p.unanswered(attacks) }).WithTimeout(2*time.Minute).Should(BeEmpty(), "manifests without the right verdict")
		say("%d manifests were refused with a sentence, %d stalled with a reason, %d taken on", refused, stalled, accepted)
		Expect(o.Ended).NotTo(BeClosed(), "the operator has ended")
		Expect(o.panics()).To(BeEmpty())
		witness := quick("witness")
		p.submit(witness)
		Eventually(func() v1alpha1.Phase {
			job := &v1alpha1.TrainingJob{}
			Expect(kube.Get(context.Background(), client.ObjectKeyFromObject(witness.job), job)).To(Succeed())
			return job.Status.Phase
		}).WithTimeout(30*time.Second).Should(Equal(v1alpha1.PhaseSucceeded), "an honest job among the hostile ones")
	})
})

// launch submits all manifests with strict validation and fails if any is judged otherwise than it should by the API server.
func (p *place) launch(attacks []*attack) {
	GinkgoHelper()
	var mu sync.Mutex
	var wrong []string
	var senders errgroup.Group
	senders.SetLimit(8)
	strict := client.WithFieldValidation(kube, metav1.FieldValidationStrict)
	for _, a := range attacks {
		senders.Go(func() error {
			object := &unstructured.Unstructured{Object: a.manifest}
			object.SetNamespace(p.namespace)
			if fault := a.judge(strict.Create(context.Background(), object)); fault != "" {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, fault)
			}
			return nil
		})
	}
	Expect(senders.Wait()).To(Succeed())
	slices.Sort(wrong)
	if len(wrong) > 0 {
		Fail(fmt.Sprintf("%d of %d manifests are not judged as they should be:\n%s", len(wrong), len(attacks), strings.Join(wrong[:min(len(wrong), 40)], "\n")))
	}
}

// judge returns what is wrong with the API server's answer; empty for nothing.
func (a *attack) judge(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil && a.want == isRefused:
		return a.what + ": it is accepted"
	case err == nil:
		return ""
	case a.want != isRefused:
		return fmt.Sprintf("%s: it is refused: %v", a.what, err)
	case !errors.As(err, &status):
		return fmt.Sprintf("%s: no answer: %v", a.what, err)
	case status.Status().Code >= 500 || status.Status().Code == 409:
		return fmt.Sprintf("%s: it is refused with %d: %v", a.what, status.Status().Code, err)
	case len(strings.Fields(err.Error())) < 5:
		return fmt.Sprintf("%s: this is no sentence: %v", a.what, err)
	default:
		return ""
	}
}

// unanswered returns which accepted manifests the operator has not taken on, or whose refused pods it does not tell of.
func (p *place) unanswered(attacks []*attack) (names []string) {
	GinkgoHelper()
	var list v1alpha1.TrainingJobList
	Expect(kube.List(context.Background(), &list, client.InNamespace(p.namespace))).To(Succeed())
	found := map[string]*v1alpha1.TrainingJob{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	for _, a := range attacks {
		if a.want == isRefused {
			continue
		}
		job := found[a.name()]
		switch {
		case job == nil:
			names = append(names, a.what+": it is gone")
		case job.Status.Phase == "" || job.Status.ObservedGeneration != job.Generation:
			names = append(names, fmt.Sprintf("%s (%s): it is not taken on", a.what, job.Name))
		case a.want == isStalled && !meta.IsStatusConditionTrue(job.Status.Conditions, v1alpha1.ConditionStalled):
			names = append(names, fmt.Sprintf("%s (%s): its pods cannot be made, and Stalled is not True: %s %s", a.what, job.Name, job.Status.Phase, job.Status.Message))
		}
	}
	return names
}
