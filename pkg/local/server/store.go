package server

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// store holds the objects of one kind. Its list is put in order only when it is read after a change: tens of thousands of pods
// come and go between two looks.
type store struct {
	objects map[client.ObjectKey]client.Object
	// keys are the keys of the list in order, added the ones that are not among them yet.
	keys, added []client.ObjectKey
	items       []client.Object
	isCurrent   bool
}

func (s *store) get(key client.ObjectKey) client.Object { return s.objects[key] }

func (s *store) put(o client.Object) {
	if s.objects == nil {
		s.objects = map[client.ObjectKey]client.Object{}
	}
	key := client.ObjectKeyFromObject(o)
	_, isKnown := s.objects[key]
	s.objects[key] = o
	switch {
	case !isKnown:
		s.added, s.isCurrent = append(s.added, key), false
	case s.isCurrent:
		i, _ := slices.BinarySearchFunc(s.keys, key, byKey)
		s.items[i] = o
	}
}

func (s *store) drop(key client.ObjectKey) {
	delete(s.objects, key)
	s.isCurrent = false
}

// list returns the objects by namespace and name.
func (s *store) list() []client.Object {
	if s.isCurrent {
		return s.items
	}
	slices.SortFunc(s.added, byKey)
	s.keys, s.added = inOrder(s.keys, s.added, func(key client.ObjectKey) bool { return s.objects[key] != nil }), nil
	s.items = make([]client.Object, 0, len(s.keys))
	for _, key := range s.keys {
		s.items = append(s.items, s.objects[key])
	}
	s.isCurrent = true
	return s.items
}

// inOrder returns the keys of two ordered lists in order, once each, without those that are not kept.
func inOrder(a, b []client.ObjectKey, isKept func(client.ObjectKey) bool) []client.ObjectKey {
	all := make([]client.ObjectKey, 0, len(a)+len(b))
	for len(a)+len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && byKey(b[0], a[0]) < 0 {
			from = &b
		}
		next := (*from)[0]
		*from = (*from)[1:]
		if isKept(next) && (len(all) == 0 || all[len(all)-1] != next) {
			all = append(all, next)
		}
	}
	return all
}

func byKey(a, b client.ObjectKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
