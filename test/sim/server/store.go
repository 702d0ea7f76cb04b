package server

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// store holds the objects of one kind by namespace and name.
type store struct{ items []client.Object }

func (s *store) find(key client.ObjectKey) (int, bool) {
	return slices.BinarySearchFunc(s.items, key, func(o client.Object, key client.ObjectKey) int {
		return cmp.Or(cmp.Compare(o.GetNamespace(), key.Namespace), cmp.Compare(o.GetName(), key.Name))
	})
}

func (s *store) get(key client.ObjectKey) client.Object {
	if i, found := s.find(key); found {
		return s.items[i]
	}
	return nil
}

func (s *store) put(o client.Object) {
	i, found := s.find(client.ObjectKeyFromObject(o))
	if found {
		s.items[i] = o
		return
	}
	s.items = slices.Insert(s.items, i, o)
}

func (s *store) drop(key client.ObjectKey) {
	if i, found := s.find(key); found {
		s.items = slices.Delete(s.items, i, i+1)
	}
}
