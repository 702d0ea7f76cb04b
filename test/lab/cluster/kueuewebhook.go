package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	admission "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
)

// kueueWebhook is how the API server reaches Kueue.
type kueueWebhook struct {
	client kubernetes.Interface
	port   int32
}

// install creates the webhook configurations in Kueue's manifest with the names that its kustomization gives them,
// without the webhooks of job kinds that a lab does not have.
func (w kueueWebhook) install(ctx context.Context, manifest string) error {
	file, err := os.Open(manifest)
	if err != nil {
		return fmt.Errorf("reading Kueue's webhooks: %w", err)
	}
	defer file.Close()
	decoder := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	var mutating admission.MutatingWebhookConfiguration
	var validating admission.ValidatingWebhookConfiguration
	for _, configuration := range []any{&mutating, &validating} {
		if err := decoder.Decode(configuration); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading Kueue's webhooks: %w", err)
		}
	}
	return w.create(ctx, &mutating, &validating)
}

func (w kueueWebhook) create(
	ctx context.Context, mutating *admission.MutatingWebhookConfiguration, validating *admission.ValidatingWebhookConfiguration,
) error {
	mutating.Name, validating.Name = "kueue-mutating-webhook-configuration", "kueue-validating-webhook-configuration"
	mutating.Webhooks = slices.DeleteFunc(mutating.Webhooks, func(h admission.MutatingWebhook) bool { return foreign(h.Rules) })
	for i := range mutating.Webhooks {
		w.reach(mutating.Webhooks[i].ClientConfig.Service)
	}
	validating.Webhooks = slices.DeleteFunc(validating.Webhooks, func(h admission.ValidatingWebhook) bool { return foreign(h.Rules) })
	for i := range validating.Webhooks {
		w.reach(validating.Webhooks[i].ClientConfig.Service)
	}
	registration := w.client.AdmissionregistrationV1()
	if _, err := registration.MutatingWebhookConfigurations().Create(ctx, mutating, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating Kueue's mutating webhooks: %w", err)
	}
	if _, err := registration.ValidatingWebhookConfigurations().Create(ctx, validating, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating Kueue's validating webhooks: %w", err)
	}
	return nil
}

func (w kueueWebhook) reach(service *admission.ServiceReference) {
	service.Namespace, service.Name, service.Port = kueueNamespace, kueueService, &w.port
}

// foreign reports whether the rules are about none of Kueue's own kinds, batch/v1 Jobs, pods, JobSets and the jobs of Kubeflow.
func foreign(rules []admission.RuleWithOperations) bool {
	return !slices.ContainsFunc(rules, func(rule admission.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.APIGroups, func(group string) bool {
			return slices.Contains([]string{"kueue.x-k8s.io", "batch", "", "kubeflow.org", "jobset.x-k8s.io", "trainer.kubeflow.org"}, group)
		})
	})
}
