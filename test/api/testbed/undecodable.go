package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// schemaOfPort is the path to the schema of a probe's port in the CRD's schema of a job.
var schemaOfPort = []string{
	"properties", "spec", "properties", "replicaSpecs", "additionalProperties", "properties", "template", "properties", "spec",
	"properties", "containers", "items", "properties", "livenessProbe", "properties", "httpGet", "properties", "port",
}

// CreateUndecodable creates the job with a port beyond int32 in the first container of its workers, which Go cannot decode. The CRD
// refuses such a port, so the CRD lacks the bound for that long, as an older CRD does. A change of the CRD ends all watches of jobs, which
// then have to begin again with a list. The job must have the role Worker.
func CreateUndecodable(ctx context.Context, kube client.Client, job *v1alpha1.TrainingJob) (*unstructured.Unstructured, error) {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := kube.Get(ctx, client.ObjectKey{Name: "trainingjobs." + v1alpha1.Group}, crd); err != nil {
		return nil, err
	}
	bound, err := boundOfPort(crd)
	if err != nil {
		return nil, err
	}
	if err := setBoundOfPort(ctx, kube, crd, map[string]any{"x-kubernetes-preserve-unknown-fields": true}); err != nil {
		return nil, err
	}
	created, err := createOddPort(ctx, kube, job)
	if err := errors.Join(err, setBoundOfPort(ctx, kube, crd, bound)); err != nil {
		return nil, err
	}
	return created, untilRefused(ctx, kube, created)
}

// untilRefused waits until the API server has the bound again and refuses such a job.
func untilRefused(ctx context.Context, kube client.Client, created *unstructured.Unstructured) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		again := created.DeepCopy()
		again.SetName(created.GetName() + "-again")
		again.SetResourceVersion("")
		err := kube.Create(ctx, again, client.DryRunAll)
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	})
}

func boundOfPort(crd *unstructured.Unstructured) (map[string]any, error) {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) == 0 {
		return nil, fmt.Errorf("the CRD has no versions: %w", err)
	}
	bound, found, err := unstructured.NestedMap(versions[0].(map[string]any), append([]string{"schema", "openAPIV3Schema"}, schemaOfPort...)...)
	if err != nil || !found {
		return nil, fmt.Errorf("the CRD has no schema of a probe's port: %w", err)
	}
	return bound, nil
}

func setBoundOfPort(ctx context.Context, kube client.Client, crd *unstructured.Unstructured, bound map[string]any) error {
	path := "/spec/versions/0/schema/openAPIV3Schema"
	for _, step := range schemaOfPort {
		path += "/" + step
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": path, "value": bound}})
	if err != nil {
		return err
	}
	return kube.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, patch))
}

// createOddPort creates the job once the API server serves the schema without the bound.
func createOddPort(ctx context.Context, kube client.Client, job *v1alpha1.TrainingJob) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return nil, err
	}
	odd := &unstructured.Unstructured{Object: fields}
	odd.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
	path := []string{"spec", "replicaSpecs", string(v1alpha1.Worker), "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(odd.Object, path...)
	if err != nil || len(containers) == 0 {
		return nil, fmt.Errorf("the job has no container of a worker: %w", err)
	}
	containers[0].(map[string]any)["livenessProbe"] = map[string]any{"httpGet": map[string]any{"port": int64(99999999999)}}
	if err := unstructured.SetNestedSlice(odd.Object, containers, path...); err != nil {
		return nil, err
	}
	created := odd
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		created = odd.DeepCopy()
		err := kube.Create(ctx, created)
		if apierrors.IsInvalid(err) {
			return false, nil // the API server takes a moment to serve a new schema
		}
		return err == nil, err
	})
	return created, err
}
