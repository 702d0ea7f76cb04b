package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// reference is what comes behind the name of an image: a digest, or else a tag.
type reference struct{ tag, digest string }

// manifests writes the CRD, and the base and each component with images by digest, as files for kubectl apply -f; and the names of the
// images, for whoever copies or checks them.
func (r *release) manifests(digests map[string]string) error {
	for file, from := range map[string]struct{ resource, component, image string }{
		"install.yaml":       {resource: "manifests/base", image: "operator"},
		"kueue-adapter.yaml": {component: "manifests/components/kueue", image: "kueue-adapter"},
		"admission.yaml":     {component: "manifests/components/admission"},
		"confine.yaml":       {component: "manifests/components/confine"},
		"mpi.yaml":           {component: "manifests/components/mpi"},
		"ttl.yaml":           {component: "manifests/components/ttl"},
		"native-gang.yaml":   {component: "manifests/components/native-gang"},
		"volcano.yaml":       {component: "manifests/components/volcano"},
		"coscheduling.yaml":  {component: "manifests/components/coscheduling"},
		"crd.yaml":           {resource: "manifests/crd"},
	} {
		rendered, err := r.render(from.resource, from.component, reference{digest: digests[from.image]})
		if err != nil {
			return err
		}
		if err := write(filepath.Join(r.out, file), rendered); err != nil {
			return err
		}
	}
	var names strings.Builder
	for _, p := range images {
		fmt.Fprintf(&names, "%s/%s@%s\n", r.registry, p.name, digests[p.name])
	}
	return write(filepath.Join(r.out, "images.txt"), []byte(names.String()))
}

// render returns what kustomize makes of a folder of the tree, with the images of the registry.
func (r *release) render(resource, component string, at reference) ([]byte, error) {
	overlay, err := os.MkdirTemp("", "overlay-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(overlay) }()
	if overlay, err = filepath.EvalSymlinks(overlay); err != nil {
		return nil, err
	}
	text := strings.Builder{}
	text.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	for field, folder := range map[string]string{"resources": resource, "components": component} {
		if folder == "" {
			continue
		}
		relative, err := r.relative(overlay, folder)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s: [%s]\n", field, relative)
	}
	text.WriteString("images:\n")
	for _, p := range images {
		fmt.Fprintf(&text, "- {name: registry.invalid/%s, newName: %s/%s, ", p.name, r.registry, p.name)
		if at.digest != "" {
			fmt.Fprintf(&text, "digest: %q}\n", at.digest)
		} else {
			fmt.Fprintf(&text, "newTag: %q}\n", at.tag)
		}
	}
	if err := write(filepath.Join(overlay, "kustomization.yaml"), []byte(text.String())); err != nil {
		return nil, err
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, fmt.Errorf("rendering %s%s: %w", resource, component, err)
	}
	return made.AsYaml()
}

// relative returns the path of a folder of the tree as the overlay sees it: kustomize takes no absolute one.
func (r *release) relative(overlay, folder string) (string, error) {
	tree, err := filepath.Abs(r.tree)
	if err != nil {
		return "", err
	}
	if tree, err = filepath.EvalSymlinks(tree); err != nil {
		return "", err
	}
	return filepath.Rel(overlay, filepath.Join(tree, folder))
}
