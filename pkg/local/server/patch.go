package server

import (
	"encoding/json"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patch does a merge patch, JSON or strategic.
func (s *Server) patch(r *Request) (client.Object, error) {
	was, err := s.existing(r)
	if err != nil {
		return nil, err
	}
	wanted, names, err := patched(r, was)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if wanted.GetUID() != was.GetUID() {
		return nil, apierrors.NewInvalid(r.Kind.GroupKind(), r.Key.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), wanted.GetUID(), "field is immutable")})
	}
	if !names {
		wanted.SetResourceVersion("")
	}
	return s.replace(r, was, wanted)
}

// patched returns the object with the patch applied, and whether the patch names a resourceVersion.
func patched(r *Request, was client.Object) (wanted client.Object, namesVersion bool, err error) {
	var patch map[string]any
	if err := json.Unmarshal(r.Patch, &patch); err != nil {
		return nil, false, err
	}
	text, err := json.Marshal(was)
	if err != nil {
		return nil, false, err
	}
	if r.Strategic {
		text, err = strategicpatch.StrategicMergePatch(text, r.Patch, r.Kind.newObject())
	} else {
		text, err = jsonpatch.MergePatch(text, r.Patch)
	}
	if err != nil {
		return nil, false, err
	}
	metadata, _ := patch["metadata"].(map[string]any)
	_, namesVersion = metadata["resourceVersion"]
	wanted = r.Kind.newObject()
	return wanted, namesVersion, json.Unmarshal(text, wanted)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
