package server

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the API server of Kubernetes 1.37 does with PodGroups beside what it does with every kind. Source:
// plugin/pkg/admission/scheduling/podgroupprotection, pkg/controller/scheduling/podgroupprotection,
// pkg/registry/scheduling/podgroup and the tags of k8s.io/api/scheduling/v1beta1.

// Protector is the user that the protection of pod groups writes as.
const Protector = "podgroup-protection"

const protection = schedulingv1beta1.GroupName + "/podgroup-protection"

// optional is the scheme of the kinds that a cluster may not serve.
var optional = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := schedulingv1beta1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return scheme
}()

// Match returns the error of a client that finds the kind's API nowhere, nil if the server has it.
func (s *Server) Match(kind Kind) error {
	if !s.Unserved[kind] {
		return nil
	}
	return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{"v1beta1"}}
}

// protect gives a new group the finalizer that keeps it as long as pods need it.
func protect(group *schedulingv1beta1.PodGroup) {
	if !slices.Contains(group.Finalizers, protection) {
		group.Finalizers = append(group.Finalizers, protection)
	}
}

// checkPodGroup refuses a pod group without a minimum, and an update that changes more of its spec than that; was is nil for a
// new one. Any other object passes.
func checkPodGroup(was, is client.Object) error {
	after, isGroup := is.(*schedulingv1beta1.PodGroup)
	if !isGroup {
		return nil
	}
	path := field.NewPath("spec")
	gang := after.Spec.SchedulingPolicy.Gang
	if gang != nil && gang.MinCount < 1 {
		return apierrors.NewInvalid(PodGroups.GroupKind(), is.GetName(), field.ErrorList{
			field.Invalid(path.Child("schedulingPolicy", "gang", "minCount"), gang.MinCount, "must be greater than or equal to 1")})
	}
	before, isOld := was.(*schedulingv1beta1.PodGroup)
	if !isOld {
		return nil
	}
	resized := before.Spec.DeepCopy()
	if gang != nil && resized.SchedulingPolicy.Gang != nil {
		resized.SchedulingPolicy.Gang.MinCount = gang.MinCount
	}
	if !equality.Semantic.DeepEqual(resized, &after.Spec) {
		return apierrors.NewInvalid(PodGroups.GroupKind(), is.GetName(), field.ErrorList{field.Invalid(path, "", "field is immutable")})
	}
	return nil
}

// Release lets go at most so many deleted groups that no pod which can run is part of.
func (s *Server) Release(atMost int) {
	for _, o := range s.List(PodGroups) {
		if atMost > 0 && awaits(o, protection) && !s.isUsed(o) {
			atMost--
			r := withoutFinalizer(o, protection)
			r.User = Protector
			_, _ = s.Do(r) // a request that fails is made again in the next round
		}
	}
}

func (s *Server) isUsed(group client.Object) bool {
	return slices.ContainsFunc(s.stores[Pods].list(), func(o client.Object) bool {
		pod := o.(*corev1.Pod)
		return o.GetNamespace() == group.GetNamespace() && GroupOf(pod) == group.GetName() &&
			pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	})
}

// GroupOf returns the name of the pod group that the pod is part of, "" for none.
func GroupOf(pod *corev1.Pod) string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}
