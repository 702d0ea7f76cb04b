package serve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

// hosts returns the replicas of the child that have a Service of their own, named like the replica's first pod. There are none while the job is
// suspended, or after its end.
func (j *Job) hosts(child *v1alpha1.TrainingJob) []state.Slot {
	if j.IsSuspended() || j.Status.isFinished() || !state.HasReplicaServices(child) {
		return nil
	}
	return slotsOf(&child.Spec)
}

// slotsOf returns all slots of a job.
func slotsOf(spec *v1alpha1.TrainingJobSpec) (slots []state.Slot) {
	for _, role := range spec.Roles() {
		for index := range int(spec.Replicas(role)) {
			slots = append(slots, state.Slot{Role: role, Index: index})
		}
	}
	return slots
}

// service returns the headless Service of a replica.
func (j *Job) service(child *v1alpha1.TrainingJob, slot state.Slot) *corev1.Service {
	selector := map[string]string{
		v1alpha1.LabelJobUID:               string(child.UID),
		v1alpha1.LabelJobName:              child.Name, // a pod on a lost node loses this label
		v1alpha1.KubeflowLabelReplicaType:  strings.ToLower(string(slot.Role)),
		v1alpha1.KubeflowLabelReplicaIndex: strconv.Itoa(slot.Index),
	}
	labels := build.JobLabels(child)
	labels[v1alpha1.KubeflowLabelReplicaType] = selector[v1alpha1.KubeflowLabelReplicaType]
	labels[v1alpha1.KubeflowLabelReplicaIndex] = selector[v1alpha1.KubeflowLabelReplicaIndex]
	labels[v1alpha1.KubeflowLabelOperatorName] = j.kind.operator()
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: state.HostName(child.Name, slot), Namespace: child.Namespace, Labels: labels, OwnerReferences: build.Owners(child),
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: selector, Ports: j.ports(child, slot.Role),
		},
	}
}

// ports returns the ports that the role's templates declare, or the kind's.
func (j *Job) ports(child *v1alpha1.TrainingJob, role v1alpha1.Role) []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, c := range child.Spec.ReplicaSpecs[role].Template.Spec.Containers {
		for _, p := range c.Ports {
			ports = append(ports, corev1.ServicePort{Name: p.Name, Port: p.ContainerPort, Protocol: p.Protocol})
		}
	}
	if len(ports) == 0 {
		return []corev1.ServicePort{{Name: j.kind.portName, Port: j.kind.port}}
	}
	if len(ports) > 1 {
		for i := range ports {
			if ports[i].Name == "" { // a Service with several ports needs a name for each
				ports[i].Name = "port-" + strconv.Itoa(int(ports[i].Port))
			}
		}
	}
	return ports
}

// The Services of jobs of a kind are created by few workers of their own, each so many at a time, so that pods are created first.
const (
	serviceWorkers = 4
	servicesAtOnce = 4
)

// services brings the Services of a job up to date.
type services struct{ *reconciler }

// Reconcile deletes the Services that a job with a TrainingJob does not want, and then creates the missing ones. After the end of the job its
// cleanPodPolicy decides, as under Kubeflow's operator.
func (r services) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	job, err := r.own(ctx, req)
	if job == nil || err != nil {
		return ctrl.Result{}, err
	}
	child, err := r.Child(ctx, keyOf(job))
	if child == nil || err != nil || !metav1.IsControlledBy(child, job) || job.rival(child) != "" {
		return ctrl.Result{}, err
	}
	if job.Status.isFinished() && child.Spec.RunPolicy.CleanPodPolicy == v1alpha1.CleanNone {
		return ctrl.Result{}, nil
	}
	missing, err := r.deleteUnwanted(ctx, job, child)
	if err != nil {
		return ctrl.Result{}, err
	}
	if job.IsSuspended() || job.Status.isFinished() {
		r.starting.remove(child.UID)
		return ctrl.Result{}, nil
	}
	if wait := r.serviceDelay(child, &job.Status); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	err = r.createServices(ctx, job, child, missing)
	r.WarnOfRefusal(job, err)
	return ctrl.Result{}, err
}

// createLeaderService creates the leader's Service at once: all frameworks look for it first.
func (r *reconciler) createLeaderService(ctx context.Context, job *Job, child *v1alpha1.TrainingJob) error {
	if job.Status.isFinished() || child.UID == "" || job.IsSuspended() || !state.HasReplicaServices(child) {
		return nil
	}
	leader := state.Leader(&child.Spec)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: child.Namespace, Name: state.HostName(child.Name, leader)}, &corev1.Service{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	return r.createServices(ctx, job, child, []state.Slot{leader})
}

// deleteUnwanted deletes the Services of replicas that the job does not have. It returns the replicas whose Service is missing.
func (r *reconciler) deleteUnwanted(ctx context.Context, job *Job, child *v1alpha1.TrainingJob) (missing []state.Slot, err error) {
	unwanted, err := r.servicesOf(ctx, child)
	if err != nil {
		return nil, err
	}
	for _, host := range job.hosts(child) {
		name := state.HostName(child.Name, host)
		if unwanted[name] == nil {
			missing = append(missing, host)
		}
		delete(unwanted, name)
	}
	for _, own := range unwanted {
		if err := r.Client.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: own.Namespace, Name: own.Name}}, client.Preconditions{UID: &own.UID}); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting Service %s: %w", own.Name, err)
		}
	}
	return missing, nil
}

// How long after the start of a job its Services give way to its pods, if not all pods run before. Programs start later than their pods and
// repeat a lookup that fails; those that look for the leader alone need the other names for nothing at first.
const (
	ifAllNamesMatter = 2 * time.Second
	ifLeaderMatters  = 30 * time.Second
)

// recheckStarting is how long a job that runs waits before it looks again whether others still start.
const recheckStarting = time.Second

// serviceDelay returns how long the Services of a job of that status give way to pods yet: to the pods of the job, and then to the pods of other
// jobs that start.
func (r *reconciler) serviceDelay(child *v1alpha1.TrainingJob, status *Status) time.Duration {
	now, after := r.Clock.Now(), ifLeaderMatters
	if namesOthers(child) {
		after = ifAllNamesMatter
	}
	start := now // the start is not written yet
	if status.StartTime != nil {
		start = status.StartTime.Time
	}
	wait := max(0, start.Add(after).Sub(now))
	if !status.is(Running) {
		r.starting.add(child.UID, now.Add(wait))
		return wait
	}
	r.starting.remove(child.UID)
	if !r.starting.isAny(now) {
		return 0
	}
	return min(wait, recheckStarting)
}

// namesOthers reports whether the leader finds the name of another replica in its variables, as in TF_CONFIG.
func namesOthers(child *v1alpha1.TrainingJob) bool {
	leader := state.Leader(&child.Spec)
	variables := framework.Environment(child)(leader)
	return slices.ContainsFunc(child.Spec.Roles(), func(role v1alpha1.Role) bool {
		other := state.Slot{Role: role}
		if other == leader {
			other.Index++
		}
		return other.Index < int(child.Spec.Replicas(role)) && slices.ContainsFunc(variables, func(v corev1.EnvVar) bool {
			return strings.Contains(v.Value, state.HostName(child.Name, other))
		})
	})
}

// servicesOf returns the Services of the replicas by name.
func (r *reconciler) servicesOf(ctx context.Context, child *v1alpha1.TrainingJob) (map[string]*corev1.Service, error) {
	var existing corev1.ServiceList
	if err := r.Client.List(ctx, &existing, client.InNamespace(child.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	own := map[string]*corev1.Service{}
	for i := range existing.Items {
		service := &existing.Items[i]
		if state.IsOwnedBy(service, child) && service.Name != child.Name && service.DeletionTimestamp.IsZero() {
			own[service.Name] = service
		}
	}
	return own, nil
}

func (r *reconciler) createServices(ctx context.Context, job *Job, child *v1alpha1.TrainingJob, missing []state.Slot) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(servicesAtOnce)
	for _, host := range missing {
		group.Go(func() error {
			service := job.service(child, host)
			if err := r.Client.Create(ctx, service, FieldOwner); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating Service %s: %w", service.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}
