package server

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func (s *Server) create(r *Request) (client.Object, error) {
	if r.Object.GetResourceVersion() != "" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
			Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created"}}
	}
	if s.stores[r.Kind].get(r.Key) != nil {
		return nil, apierrors.NewAlreadyExists(r.Kind.Resource(), r.Key.Name)
	}
	if err := checkPodGroup(nil, r.Object); err != nil {
		return nil, err
	}
	if err := s.admit(r); err != nil {
		return nil, err
	}
	o := clone(r.Object)
	o.SetUID(s.newUID())
	o.SetCreationTimestamp(s.now())
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetGeneration(0)
	if r.Kind.countsGenerations() {
		o.SetGeneration(1)
	}
	switch o := o.(type) {
	case *v1alpha1.TrainingJob:
		o.Status = v1alpha1.TrainingJobStatus{}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending}
		if o.Spec.TerminationGracePeriodSeconds == nil {
			o.Spec.TerminationGracePeriodSeconds = ptr.To(int64(corev1.DefaultTerminationGracePeriodSeconds))
		}
	case *schedulingv1beta1.PodGroup:
		o.Status = schedulingv1beta1.PodGroupStatus{}
		protect(o)
	}
	return s.commit(r, nil, o), nil
}

func (s *Server) update(r *Request) (client.Object, error) {
	was, err := s.existing(r)
	if err != nil {
		return nil, err
	}
	if r.Object.GetResourceVersion() == "" && r.Kind.needsVersion() {
		return nil, apierrors.NewInvalid(r.Kind.GroupKind(), r.Key.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	if uid := r.Object.GetUID(); uid != "" && uid != was.GetUID() {
		return nil, apierrors.NewConflict(r.Kind.Resource(), r.Key.Name,
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, was.GetUID())) //nolint:staticcheck // the server's own words
	}
	return s.replace(r, was, r.Object)
}

// replace puts what the request may change of wanted in the place of was.
func (s *Server) replace(r *Request, was, wanted client.Object) (client.Object, error) {
	if v := wanted.GetResourceVersion(); v != "" && v != was.GetResourceVersion() {
		return nil, apierrors.NewConflict(r.Kind.Resource(), r.Key.Name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	if err := s.admit(r); err != nil {
		return nil, err
	}
	is := merged(was, wanted, r.Status)
	wholeSeconds(is)
	if err := checkPodGroup(was, is); err != nil {
		return nil, err
	}
	if unchanged(was, is, r.Status) {
		return was, nil // nothing is written, and no watcher is called
	}
	if r.Kind.countsGenerations() && !r.Status && !sameSpec(was, is) {
		is.SetGeneration(was.GetGeneration() + 1)
	}
	if is.GetDeletionTimestamp() != nil && len(is.GetFinalizers()) == 0 && ptr.Deref(is.GetDeletionGracePeriodSeconds(), 0) == 0 {
		s.remove(r, was)
		return is, nil
	}
	return s.commit(r, was, is), nil
}

// merged returns was with what an update of the object, or of its status, may change.
func merged(was, wanted client.Object, status bool) client.Object {
	if status {
		is := clone(was)
		copyStatus(is, clone(wanted))
		return is
	}
	is := clone(wanted)
	copyStatus(is, clone(was))
	is.SetUID(was.GetUID())
	is.SetCreationTimestamp(was.GetCreationTimestamp())
	is.SetGeneration(was.GetGeneration())
	is.SetDeletionTimestamp(was.GetDeletionTimestamp())
	is.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	is.SetResourceVersion(was.GetResourceVersion())
	return is
}

// unchanged reports whether the write changes nothing; of a write to the status only that is compared.
func unchanged(was, is client.Object, status bool) bool {
	if a, isPod := was.(*corev1.Pod); isPod { // these change most often, and to compare all of a pod takes long
		if b := is.(*corev1.Pod); a.Status.Phase != b.Status.Phase || a.Spec.NodeName != b.Spec.NodeName {
			return false
		}
	}
	if !status {
		return equality.Semantic.DeepEqual(was, is)
	}
	switch was := was.(type) {
	case *v1alpha1.TrainingJob:
		return equality.Semantic.DeepEqual(&was.Status, &is.(*v1alpha1.TrainingJob).Status)
	case *corev1.Pod:
		return equality.Semantic.DeepEqual(&was.Status, &is.(*corev1.Pod).Status)
	default:
		return equality.Semantic.DeepEqual(was, is)
	}
}

// copyStatus gives to the status of from; both are of one kind, and from is not used any more.
func copyStatus(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.TrainingJob:
		to.Status = from.(*v1alpha1.TrainingJob).Status
	case *corev1.Pod:
		to.Status = from.(*corev1.Pod).Status
	case *corev1.Service:
		to.Status = from.(*corev1.Service).Status
	case *corev1.Node:
		to.Status = from.(*corev1.Node).Status
	case *schedulingv1beta1.PodGroup:
		to.Status = from.(*schedulingv1beta1.PodGroup).Status
	}
}

func sameSpec(a, b client.Object) bool {
	switch a := a.(type) {
	case *v1alpha1.TrainingJob:
		return equality.Semantic.DeepEqual(a.Spec, b.(*v1alpha1.TrainingJob).Spec)
	case *corev1.Pod:
		x, y := a.Spec.DeepCopy(), b.(*corev1.Pod).Spec
		x.NodeName = y.NodeName // binding a pod is not counted
		return equality.Semantic.DeepEqual(*x, y)
	default:
		return true
	}
}

// delete begins or makes the end of an object, as the generic registry of the real server does.
func (s *Server) delete(r *Request) (client.Object, error) {
	was, err := s.existing(r)
	if err != nil {
		return nil, err
	}
	if err := checkPreconditions(r, was); err != nil {
		return nil, err
	}
	if err := s.admit(r); err != nil {
		return nil, err
	}
	is := clone(was)
	waits, pending := s.markDeleted(is, &r.Delete)
	if pending {
		return was, nil
	}
	addFinalizer(is, r.Delete.PropagationPolicy)
	if len(is.GetFinalizers()) == 0 && !waits {
		if _, isPod := is.(*corev1.Pod); isPod { // the API server writes that its grace is over before it removes the object
			was = s.commit(r, was, is)
		}
		s.remove(r, was)
		return was, nil
	}
	if is.GetDeletionTimestamp() == nil {
		now := s.now()
		is.SetDeletionTimestamp(&now)
		bumpGeneration(is)
	}
	if !waits {
		is.SetDeletionGracePeriodSeconds(ptr.To[int64](0))
	}
	if equality.Semantic.DeepEqual(was, is) {
		return was, nil
	}
	return s.commit(r, was, is), nil
}

func checkPreconditions(r *Request, o client.Object) error {
	p := r.Delete.Preconditions
	switch {
	case p == nil:
		return nil
	case p.UID != nil && *p.UID != o.GetUID():
		return apierrors.NewConflict(r.Kind.Resource(), r.Key.Name,
			fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, o.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion():
		return apierrors.NewConflict(r.Kind.Resource(), r.Key.Name,
			fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, o.GetResourceVersion()))
	default:
		return nil
	}
}

// markDeleted sets a pod's deletion and reports whether its node has yet to end it. It reports pending, and changes
// nothing, if the pod is ending already and the request does not shorten that.
func (s *Server) markDeleted(o client.Object, options *metav1.DeleteOptions) (waits, pending bool) {
	pod, isPod := o.(*corev1.Pod)
	if !isPod {
		return false, false
	}
	now := s.now()
	if pod.DeletionTimestamp != nil {
		left := ptr.Deref(pod.DeletionGracePeriodSeconds, 0)
		switch {
		case left == 0:
			return false, false
		case options.GracePeriodSeconds == nil || *options.GracePeriodSeconds >= left:
			return true, true
		}
		grace := *options.GracePeriodSeconds
		until := metav1.NewTime(pod.DeletionTimestamp.Add(seconds(grace - left)))
		if until.Before(&now) {
			until = now
			grace = min(grace, 1)
		}
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &until, &grace
		return grace > 0, false
	}
	grace := ptr.Deref(options.GracePeriodSeconds, ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0))
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		grace = 0
	}
	until := metav1.NewTime(now.Add(seconds(grace)))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &until, &grace
	bumpGeneration(pod)
	return grace > 0, false
}

func bumpGeneration(o client.Object) {
	if g := o.GetGeneration(); g > 0 {
		o.SetGeneration(g + 1)
	}
}
