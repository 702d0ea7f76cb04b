package fair

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A namespace whose reads hang leaves slots to the others.
func TestReadsAreSharedOutByNamespace(t *testing.T) {
	started, end := make(chan struct{}, 100), make(chan struct{})
	hanging := &hangingReader{started, end}
	r := Reader(hanging, 8)
	for range 20 {
		go func() {
			_ = r.Get(context.Background(), client.ObjectKey{Namespace: "greedy", Name: "p"}, &corev1.Pod{})
		}()
	}
	for range 8 / Shares {
		<-started
	}
	go func() { _ = r.List(context.Background(), &corev1.PodList{}, client.InNamespace("modest")) }()
	<-started
	if n := len(started); n > 0 {
		t.Errorf("%d more reads of one namespace are under way than its share", n)
	}
	close(end)
}

type hangingReader struct{ started, end chan struct{} }

func (r *hangingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	r.started <- struct{}{}
	<-r.end
	return nil
}

func (r *hangingReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return r.Get(context.Background(), client.ObjectKey{}, nil)
}

func TestANamespaceWithoutARequestIsForgotten(t *testing.T) {
	s := NewSlots(4)
	release, err := s.Acquire(t.Context(), "team-a")
	if err != nil || len(s.namespaces) != 1 {
		t.Fatalf("%d namespaces, %v", len(s.namespaces), err)
	}
	if release(); len(s.namespaces) > 0 {
		t.Errorf("%d namespaces are remembered without a request", len(s.namespaces))
	}
}
