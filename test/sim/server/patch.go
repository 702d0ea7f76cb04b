package server

import (
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patch does a JSON merge patch.
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
	var patch, object map[string]any
	if err := json.Unmarshal(r.Patch, &patch); err != nil {
		return nil, false, err
	}
	text, err := json.Marshal(was)
	if err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, false, err
	}
	mergeInto(object, patch)
	if text, err = json.Marshal(object); err != nil {
		return nil, false, err
	}
	metadata, _ := patch["metadata"].(map[string]any)
	_, namesVersion = metadata["resourceVersion"]
	wanted = r.Kind.newObject()
	return wanted, namesVersion, json.Unmarshal(text, wanted)
}

// mergeInto changes object as a JSON merge patch does.
func mergeInto(object, patch map[string]any) {
	for key, value := range patch {
		change, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap:
			below, _ := object[key].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			mergeInto(below, change)
			object[key] = below
		default:
			object[key] = value
		}
	}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
