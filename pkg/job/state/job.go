package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// OwnerOf returns the reference to the TrainingJob that controls the object; nil if there is none. Beside a served job of the same name, which
// then controls the object, a plain reference is enough. So it is for an object that has the label of a Kubeflow job's children and no
// controller: the Kubeflow job was deleted without them.
func OwnerOf(o metav1.Object) *metav1.OwnerReference {
	controller := metav1.GetControllerOfNoCopy(o)
	switch {
	case controller == nil:
	case isTrainingJob(controller):
		return controller
	case !isServed(controller):
		return nil
	}
	refs := o.GetOwnerReferences()
	for i := range refs {
		isBeside := controller != nil && isNamedAfter(refs[i].Name, controller)
		isLeft := controller == nil && o.GetLabels()[v1alpha1.KubeflowLabelOperatorName] != ""
		if isTrainingJob(&refs[i]) && (isBeside || isLeft) {
			return &refs[i]
		}
	}
	return nil
}

// IsOwnedBy reports whether the job owns the object. Another job of the same name does not.
func IsOwnedBy(o metav1.Object, job *v1alpha1.TrainingJob) bool {
	ref := OwnerOf(o)
	return ref != nil && ref.UID == job.UID
}

func isTrainingJob(ref *metav1.OwnerReference) bool {
	return ref.Kind == v1alpha1.Kind && ref.APIVersion == v1alpha1.GroupVersion.String()
}

// HolderOf returns the kind and the name of what controls the object, or else of the object itself, which is of that kind. To delete an object that another
// one controls would harm that one.
func HolderOf(kind string, o metav1.Object) string {
	if controller := metav1.GetControllerOfNoCopy(o); controller != nil {
		return controller.Kind + " " + controller.Name
	}
	return kind + " " + o.GetName()
}

// isServed reports whether TrainingJobs serve objects of that kind.
func isServed(ref *metav1.OwnerReference) bool {
	return ref.APIVersion == v1alpha1.KubeflowVersion || ref.APIVersion == v1alpha1.JobSetVersion && ref.Kind == v1alpha1.JobSetKind
}

// isNamedAfter reports whether a TrainingJob of that name may serve the object: it has the same name, or the name of a part of a JobSet.
func isNamedAfter(job string, served *metav1.OwnerReference) bool {
	return job == served.Name || served.Kind == v1alpha1.JobSetKind && strings.HasPrefix(job, served.Name+"-")
}

// ServedJob returns the reference to the Kubeflow job or JobSet that the TrainingJob serves; nil if it serves none. Clients of Kubeflow jobs walk the
// controllers of pods, or their first owner, and stop at a kind that they do not know. So that job controls the children.
func ServedJob(job *v1alpha1.TrainingJob) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(job)
	if ref == nil || !isServed(ref) || !isNamedAfter(job.Name, ref) {
		return nil
	}
	return ref
}

// ServedFor returns references to the objects that the job's user knows instead of it: the Kubeflow job or the JobSet that it serves, and the TrainJob of
// that.
func ServedFor(job *v1alpha1.TrainingJob) (refs []*corev1.ObjectReference) {
	served := ServedJob(job)
	if served == nil {
		return nil
	}
	about := func(version, kind, name string, uid types.UID) {
		refs = append(refs, &corev1.ObjectReference{APIVersion: version, Kind: kind, Namespace: job.Namespace, Name: name, UID: uid})
	}
	about(served.APIVersion, served.Kind, served.Name, served.UID)
	if name, uid, isOwned := strings.Cut(job.Annotations[v1alpha1.AnnotationTrainJob], "/"); isOwned && served.Kind == v1alpha1.JobSetKind {
		about(v1alpha1.TrainJobVersion, v1alpha1.TrainJobKind, name, types.UID(uid))
	}
	return refs
}

// HasReplicaServices reports whether each replica has a Service of its own, so that its host name resolves without a subdomain.
func HasReplicaServices(job *v1alpha1.TrainingJob) bool {
	return ServedJob(job) != nil && job.Annotations[v1alpha1.AnnotationReplicaServices] != v1alpha1.ReplicaServicesNone
}

// QueueOf returns the queue in force: Kueue's, or the queue of the job's gang scheduler.
func QueueOf(job *v1alpha1.TrainingJob) string {
	if queue := job.Labels[v1alpha1.LabelQueue]; queue != "" || job.Spec.Scheduling == nil {
		return queue
	}
	return job.Spec.Scheduling.Queue
}

// PartialAdmission returns how many workers the queue has admitted and how many the job requests; ok is false if it has admitted all, or the
// workers were scaled since.
func PartialAdmission(job *v1alpha1.TrainingJob) (admitted, asked int32, ok bool) {
	_, err := fmt.Sscanf(job.Annotations[v1alpha1.AnnotationAdmittedWorkers], "%d of %d", &admitted, &asked)
	return admitted, asked, err == nil && admitted < asked && admitted == job.Spec.Replicas(v1alpha1.Worker)
}

// WhyQueued returns which queue of Kueue the job waits in, and the queue's message if there is one.
func WhyQueued(job *v1alpha1.TrainingJob) string {
	message := cmp.Or(Printable(job.Annotations[v1alpha1.AnnotationQueueMessage]), "Kueue and the Kueue adapter start it.")
	return fmt.Sprintf("The job waits in queue %s to be admitted: %s", job.Labels[v1alpha1.LabelQueue], Quote(message))
}

// ClusterOf returns the worker cluster in which MultiKueue runs the job; empty for none.
func ClusterOf(job *v1alpha1.TrainingJob) string {
	if !job.Spec.IsDispatched() {
		return ""
	}
	return Printable(job.Annotations[v1alpha1.AnnotationCluster])
}

// HasFinished reports whether the job has succeeded or failed, by its phase.
func HasFinished(job *v1alpha1.TrainingJob) bool {
	return job.Status.Phase == v1alpha1.PhaseSucceeded || job.Status.Phase == v1alpha1.PhaseFailed
}

// maxRequest is how much of a request counts, in bytes.
const maxRequest = 256

// Request is a user's request for a restart.
type Request struct {
	// Reason is the user's text, without the name of the replica.
	Reason string
	// Replica is the replica that the request names; nil if it is for the whole job.
	Replica *Replica
}

// RestartRequest returns the new request to restart the job or one replica. It returns nil for the last answered request, for a text
// from the submission of the job, and for a replica that the job does not have or that has succeeded.
func (s *Snapshot) RestartRequest() *Request {
	words := RequestOf(s.Job)
	if words == s.Job.Status.Memory.RestartRequest || words == "" || !s.Is(v1alpha1.ConditionCreated) {
		return nil
	}
	slot, reason, isNamed := ParseRequest(s.Job, words)
	if !isNamed {
		return &Request{Reason: reason}
	}
	if r := s.Replica(slot); r != nil && r.State != Succeeded {
		return &Request{Reason: reason, Replica: r}
	}
	return nil
}

// RequestOf returns the text of the job's restart annotation, in a form for the status.
func RequestOf(job *v1alpha1.TrainingJob) string {
	return Cut(Printable(Cut(job.Annotations[v1alpha1.AnnotationRestart], MaxWords)), maxRequest)
}

// ParseRequest splits the text of a request: "worker-3: its disk is slow" names a replica. A name of no role is part of the
// reason.
func ParseRequest(job *v1alpha1.TrainingJob, words string) (slot Slot, reason string, isNamed bool) {
	name, rest, _ := strings.Cut(words, ":")
	slot, life, isName := ParsePodName(job.Name, job.Name+"-"+name)
	_, isOwn := job.Spec.ReplicaSpecs[slot.Role]
	if isRole := isOwn || slices.Contains(v1alpha1.Roles, slot.Role); !isName || !isRole || life != (Life{}) {
		return Slot{}, words, false
	}
	return slot, strings.TrimSpace(rest), true
}

// Shape returns a hash of what only a suspended job may change: who its replicas are, how many, from which templates, and how
// they are scheduled. Replicas of two shapes do not belong together.
func Shape(spec *v1alpha1.TrainingJobSpec) string {
	type role struct {
		Replicas int32
		Template corev1.PodTemplateSpec
	}
	roles := map[v1alpha1.Role]role{}
	for name := range spec.ReplicaSpecs {
		r := role{Replicas: spec.Replicas(name), Template: spec.ReplicaSpecs[name].Template}
		if name == v1alpha1.Worker && spec.Elastic != nil {
			r.Replicas = 0 // may change at any time
		}
		roles[name] = r
	}
	hash := fnv.New64a()
	fixed := []any{roles, spec.Elastic, spec.Scheduling}
	if spec.MPI != nil {
		fixed = append(fixed, spec.MPI) // the hash of every other job stays what it was before there were MPI jobs
	}
	if spec.Network != nil {
		fixed = append(fixed, spec.Network)
	}
	text, err := json.Marshal(fixed)
	if err != nil {
		return "" // what came as JSON goes as JSON
	}
	_, _ = hash.Write(text)
	return strconv.FormatUint(hash.Sum64(), 36)
}

// ChangedUnseen reports whether the job has another shape than its pods: it was suspended, changed and resumed between two reconciles, or while
// its ranks save a checkpoint.
func (s *Snapshot) ChangedUnseen() bool {
	was := s.Job.Status.Memory.Shape
	return was != "" && s.MayHaveChanged() && was != Shape(&s.Job.Spec)
}

// MayHaveChanged reports whether the spec may have changed since the status was written, or since the ranks have begun to save a checkpoint.
func (s *Snapshot) MayHaveChanged() bool {
	return s.Job.Generation != s.Job.Status.ObservedGeneration || s.Job.Status.CheckpointRequest != nil
}

// FirstAttempt returns the first attempt of the job: the value of its annotation, or 0 without one. It returns an error with a correction
// if the annotation is not a valid number.
func FirstAttempt(job *v1alpha1.TrainingJob) (int32, error) {
	text, isSet := job.Annotations[v1alpha1.AnnotationFirstAttempt]
	if !isSet {
		return 0, nil
	}
	first, err := strconv.ParseUint(text, 10, 31)
	if err != nil || first > v1alpha1.MaxFirstAttempt {
		return 0, fmt.Errorf("annotation %s %.40q: write a whole number from 0 to %d", v1alpha1.AnnotationFirstAttempt, text, v1alpha1.MaxFirstAttempt)
	}
	return int32(first), nil
}

// Begin returns the snapshot of a job that has no status yet as one of its first attempt, with the counts that it brings from another
// cluster, and any other snapshot as it is. It returns an error if an annotation of the job does not say how to begin.
func (s *Snapshot) Begin() (*Snapshot, error) {
	if s.Is(v1alpha1.ConditionCreated) {
		return s, nil
	}
	first, err := FirstAttempt(s.Job)
	if err != nil {
		return s, err
	}
	carried, err := readCarried(s.Job, s.Now)
	if err != nil || carried == nil && first <= s.Job.Status.Attempt { // it never falls
		return s, err
	}
	o, job := s.Observed, *s.Job
	if carried != nil {
		job.Status = *carried
	}
	job.Status.Attempt = max(job.Status.Attempt, first)
	o.Job = &job
	return New(o)
}
