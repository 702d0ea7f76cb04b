package main

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// placeByIndex has the API server give each pod of the bench a node by its index, so that the scheduler has nothing to do. It returns what
// takes that back.
func (b *bench) placeByIndex(ctx context.Context) (func(), error) {
	var nodes corev1.NodeList
	if err := b.client.List(ctx, &nodes); err != nil {
		return nil, err
	}
	for i := range nodes.Items {
		if !testbed.IsFake(&nodes.Items[i]) {
			return nil, fmt.Errorf("node %s is no fake node of a lab: this puts pods on nodes whatever runs there", nodes.Items[i].Name)
		}
	}
	const name = "bench-place-by-index"
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicySpec{
		ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionv1.MatchResources{
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{benchLabel: "pod"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelIndex, Operator: metav1.LabelSelectorOpExists}}},
			ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}}},
		},
		Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
			Expression: fmt.Sprintf(`Object{spec: Object.spec{nodeName: "gpu-" + string(int(object.metadata.labels[%q]) %% %d)}}`, v1alpha1.LabelIndex, len(nodes.Items)),
		}}},
	}}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}
	stop := func() {
		for _, o := range []client.Object{binding, policy} {
			if err := client.IgnoreNotFound(b.client.Delete(context.WithoutCancel(ctx), o)); err != nil {
				fmt.Println("bench:", err)
			}
		}
	}
	for _, o := range []client.Object{policy, binding} {
		if err := b.client.Create(ctx, o); err != nil {
			stop()
			return nil, fmt.Errorf("placing pods by index: %w", err)
		}
	}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pod := b.barePod(0)
		pod.Labels[v1alpha1.LabelIndex] = "1"
		err := b.client.Create(ctx, pod, client.DryRunAll)
		return pod.Spec.NodeName == "gpu-1", err
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("placing pods by index: %w", err)
	}
	return stop, nil
}
