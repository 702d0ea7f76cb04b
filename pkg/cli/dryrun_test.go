package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fields "k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// What a cluster refuses of a job's pods is seen before the job is created. Only pods that are not valid keep it from being created: a quota may be
// free later, and a service account may come.
func TestADryRunOfThePods(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "j-worker-0", fields.ErrorList{fields.Invalid(fields.NewPath("spec"), "x", "must be valid")})
	file := filepath.Join(t.TempDir(), "job.yaml")
	manifest := "apiVersion: trainingjob.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: j}\nspec: {framework: PyTorch, replicaSpecs: " +
		"{Master: &r {template: {spec: {containers: [{name: main, image: i}]}}}, Worker: {<<: *r, replicas: 9}, Evaluator: {<<: *r, replicas: 0}}}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		refusal error
		want    string
		creates bool
	}{
		"accepted":             {nil, "", true},
		"not valid":            {invalid, "the cluster would refuse the pods of role worker (Invalid): Pod \"j-worker-0\" is invalid: spec: Invalid value: \"x\": must be valid", false},
		"a quota":              {apierrors.NewForbidden(pods, "j-worker-0", errors.New("exceeded quota: q")), "role worker (QuotaExceeded): pods \"j-worker-0\" is forbidden: exceeded quota: q.", true},
		"a service account":    {apierrors.NewForbidden(pods, "j-worker-0", errors.New("error looking up service account a/b")), "(Forbidden)", true},
		"a right of the user":  {apierrors.NewForbidden(pods, "", errors.New(`User "ann" cannot create resource "pods" in API group "" in the namespace "team-a"`)), "not tried in a dry run: you may not create pods.", true},
		"a webhook":            {apierrors.NewBadRequest("admission webhook w does not support dry run"), "not tried in a dry run: admission webhook w does not support dry run.", true},
		"no answer":            {errors.New("connection refused"), "not tried in a dry run: connection refused.", true},
		"a name that is taken": {apierrors.NewAlreadyExists(pods, "j-worker-0"), "", true},
	} {
		for _, verb := range []string{"plan", "submit"} {
			var sent []string
			created := false
			s := newStage(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
				if _, isJob := o.(*v1alpha1.TrainingJob); isJob {
					created = true
					return nil
				}
				pod, isPod := o.(*corev1.Pod)
				if !isPod || !slices.Contains(options, client.CreateOption(client.DryRunAll)) || pod.Namespace != "team-a" || len(pod.OwnerReferences) > 0 {
					t.Errorf("%s: creates %T %+v", name, o, o)
					return nil
				}
				sent = append(sent, pod.Name)
				if strings.Contains(pod.Name, "worker") {
					return c.refusal
				}
				return nil
			}})
			status := s.run(t.Context(), []string{verb, "-f", file})
			if said := s.out.String() + s.err.String(); !strings.Contains(said, c.want) || c.want == "" && strings.Contains(said, "dry run") {
				t.Errorf("%s, %s: %q, want %q", name, verb, said, c.want)
			}
			if created != (verb == "submit" && c.creates) || (status == 0) != c.creates || !slices.Equal(sent, []string{"j-master-0", "j-worker-0"}) {
				t.Errorf("%s, %s: status %d, created %t, sent %v", name, verb, status, created, sent)
			}
		}
	}
}
