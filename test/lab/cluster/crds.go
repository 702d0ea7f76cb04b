package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (l *lab) installCRDs(ctx context.Context) error {
	for _, path := range l.CRDs {
		if err := l.installCRDsFrom(ctx, path); err != nil {
			return err
		}
	}
	chosen, err := l.withAddons()
	if err != nil {
		return err
	}
	for _, a := range chosen {
		if err := l.installCRDsOf(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) installCRDsOf(ctx context.Context, a addon) error {
	program, err := a.program()
	if err != nil {
		return err
	}
	var changes []func(*apiextensions.CustomResourceDefinition)
	if a.change != nil {
		change, err := a.change(l)
		if err != nil {
			return err
		}
		changes = append(changes, change)
	}
	for _, crds := range a.crds {
		if err := l.installCRDsFrom(ctx, filepath.Join(program.module, crds), changes...); err != nil {
			return err
		}
	}
	return nil
}

// installCRDsFrom installs the definitions in a file or folder, each changed first by all of the functions.
func (l *lab) installCRDsFrom(ctx context.Context, path string, changes ...func(*apiextensions.CustomResourceDefinition)) error {
	definitions, err := readCRDs(path)
	if err != nil {
		return err
	}
	for i := range definitions {
		for _, change := range changes {
			change(&definitions[i])
		}
	}
	return l.installDefinitions(ctx, definitions)
}

func (l *lab) installDefinitions(ctx context.Context, definitions []apiextensions.CustomResourceDefinition) error {
	config, err := l.dir.restConfig()
	if err != nil {
		return err
	}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client for CRDs: %w", err)
	}
	for _, crd := range definitions {
		if err := installCRD(ctx, client, crd); err != nil {
			return err
		}
		if crd.Spec.Scope == apiextensions.NamespaceScoped {
			l.counted = append(l.counted, corev1.ResourceName("count/"+crd.Name))
		}
		l.say("CRD %s is established", crd.Name)
	}
	return nil
}

// installCRD applies the definition and waits until the API server serves it.
func installCRD(ctx context.Context, client clientset.Interface, crd apiextensions.CustomResourceDefinition) error {
	content, err := json.Marshal(crd)
	if err != nil {
		return fmt.Errorf("encoding CRD %s: %w", crd.Name, err)
	}
	crds := client.ApiextensionsV1().CustomResourceDefinitions()
	force := true
	if _, err := crds.Patch(ctx, crd.Name, types.ApplyPatchType, content,
		metav1.PatchOptions{FieldManager: "lab", Force: &force}); err != nil {
		return fmt.Errorf("applying CRD %s: %w", crd.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		current, err := crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if err == nil && isEstablished(current) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("CRD %s did not get established within 30 s: %s", crd.Name, describeConditions(current))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func isEstablished(crd *apiextensions.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensions.Established {
			return condition.Status == apiextensions.ConditionTrue
		}
	}
	return false
}

func describeConditions(crd *apiextensions.CustomResourceDefinition) string {
	if crd == nil || len(crd.Status.Conditions) == 0 {
		return "the API server has not said why"
	}
	text := ""
	for _, condition := range crd.Status.Conditions {
		text += fmt.Sprintf("%s=%s %s %s; ", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return text
}
