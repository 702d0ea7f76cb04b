package server

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Collector is the user that the garbage collector writes as.
const Collector = "garbage-collector"

// owners are the kinds that own others, and owned those that have owners.
var owned = []Kind{Pods, Services, PodGroups, Secrets}

// addFinalizer adds the garbage collector's finalizer for the propagation policy, and takes away the other.
func addFinalizer(o client.Object, policy *metav1.DeletionPropagation) {
	if policy == nil {
		return
	}
	finalizers := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch *policy {
	case metav1.DeletePropagationForeground:
		finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
	}
	o.SetFinalizers(finalizers)
}

// Collect lets the garbage collector make at most so many writes, and returns how many it made.
func (s *Server) Collect(atMost int) int {
	made := 0
	do := func(r *Request) {
		if made < atMost {
			made++
			r.User = Collector
			_, _ = s.Do(r) // a request that fails is made again in the next round
		}
	}
	s.deleteDependents(do)
	s.finalize(do)
	return made
}

// deleteDependents deletes what has lost all its owners, or has one that is deleted in the foreground.
func (s *Server) deleteDependents(do func(*Request)) {
	for _, kind := range owned {
		for _, o := range s.List(kind) {
			refs := o.GetOwnerReferences()
			if len(refs) == 0 || o.GetDeletionTimestamp() != nil {
				continue
			}
			solid := slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool {
				owner := s.owner(ref.UID)
				return owner != nil && !awaits(owner, metav1.FinalizerDeleteDependents)
			})
			if !solid {
				uid := o.GetUID()
				do(&Request{Verb: Delete, Kind: kind, Key: client.ObjectKeyFromObject(o), Delete: metav1.DeleteOptions{
					Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}})
			}
		}
	}
}

// finalize takes the collector's finalizers from jobs whose dependents are gone or orphaned.
func (s *Server) finalize(do func(*Request)) {
	for _, o := range s.List(Jobs) {
		switch {
		case awaits(o, metav1.FinalizerDeleteDependents):
			if !slices.ContainsFunc(s.dependents(o.GetUID()), func(child client.Object) bool { return blocks(child, o.GetUID()) }) {
				do(withoutFinalizer(o, metav1.FinalizerDeleteDependents))
			}
		case awaits(o, metav1.FinalizerOrphanDependents):
			for _, child := range s.dependents(o.GetUID()) {
				orphan := clone(child)
				orphan.SetOwnerReferences(slices.DeleteFunc(slices.Clone(child.GetOwnerReferences()),
					func(ref metav1.OwnerReference) bool { return ref.UID == o.GetUID() }))
				do(&Request{Verb: Update, Kind: KindOf(child), Key: client.ObjectKeyFromObject(child), Object: orphan})
			}
			if len(s.dependents(o.GetUID())) == 0 {
				do(withoutFinalizer(o, metav1.FinalizerOrphanDependents))
			}
		}
	}
}

func (s *Server) owner(uid types.UID) client.Object {
	for _, o := range s.stores[Jobs].list() {
		if o.GetUID() == uid {
			return o
		}
	}
	return nil
}

func (s *Server) dependents(uid types.UID) []client.Object {
	var all []client.Object
	for _, kind := range owned {
		for _, o := range s.stores[kind].list() {
			if slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == uid }) {
				all = append(all, o)
			}
		}
	}
	return all
}

func blocks(child client.Object, owner types.UID) bool {
	return slices.ContainsFunc(child.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner && ptr.Deref(ref.BlockOwnerDeletion, false)
	})
}

func awaits(o client.Object, finalizer string) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), finalizer)
}

func withoutFinalizer(o client.Object, finalizer string) *Request {
	is := clone(o)
	is.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
	return &Request{Verb: Update, Kind: KindOf(o), Key: client.ObjectKeyFromObject(o), Object: is}
}
