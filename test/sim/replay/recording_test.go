package replay

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

// All indexes of slots have five digits, so that what is encoded of one slot becomes that of another by replacing the digits.
const (
	firstIndex    = 10_000
	recordedIndex = 15_432
)

// recorder encodes one version of a pod after the other.
type recorder struct {
	tb      testing.TB
	job     *v1alpha1.TrainingJob
	tracker *managedfields.FieldManager
	version int
}

// recording is all that a watch sends of a pod: one frame for each version until it runs, and until it is gone.
type recording struct{ start, stop []frame }

// frame is an encoded event, and where in it the recorded index stands.
type frame struct {
	text []byte
	at   []int
}

// of returns the frame of another slot. It is valid until the next one is asked for.
func (f frame) of(index int) []byte {
	digits := strconv.Itoa(index)
	for _, at := range f.at {
		copy(f.text[at:], digits)
	}
	return f.text
}

func newRecorder(tb testing.TB, pods int) *recorder {
	return &recorder{
		tb:      tb,
		job:     builder.Job("llama-pretraining", builder.Framework(v1alpha1.PyTorch), builder.Workers(pods)),
		tracker: managedfieldstest.NewFakeFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), podKind),
	}
}

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// record plays a life of the recorded slot.
func (r *recorder) record(life state.Life) recording {
	pod := r.created(life)
	var all recording
	for _, next := range starting {
		all.start = append(all.start, r.frame(pod, next))
	}
	for _, next := range stopping {
		all.stop = append(all.stop, r.frame(pod, next))
	}
	return all
}

// created returns the pod as the API server stores what the operator creates.
func (r *recorder) created(life state.Life) *corev1.Pod {
	slot := state.Slot{Role: v1alpha1.Worker, Index: recordedIndex}
	pod := build.Pod(r.job, slot, life, framework.Environment(r.job)(slot), nil)
	pod.SetGroupVersionKind(podKind)
	applyDefaults(&pod.Spec)
	r.track(&corev1.Pod{TypeMeta: pod.TypeMeta}, pod, operator)
	pod.UID = types.UID(fmt.Sprintf("7aefa719-e1b3-4937-a6c2-%07d%d", life.Attempt, recordedIndex))
	pod.CreationTimestamp, pod.Generation = builder.Time(0), 1
	admit(&pod.Spec)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
	return pod
}

// frame changes the pod and encodes the event that tells of it.
func (r *recorder) frame(pod *corev1.Pod, next version) frame {
	before := pod.DeepCopy()
	next.change(pod)
	if next.isKubelets {
		r.track(before, pod, kubelet)
	}
	r.version++
	pod.ResourceVersion = fmt.Sprintf("%d%d", 100+r.version, recordedIndex) // grows from pod to pod, and from version to version
	f := frame{text: encode(r.tb, next.event, pod)}
	for _, found := range recorded.FindAllIndex(f.text, -1) {
		f.at = append(f.at, found[0])
	}
	return f
}

var recorded = regexp.MustCompile(strconv.Itoa(recordedIndex))

// track has the fields that changed belong to the writer, as an API server does.
func (r *recorder) track(before, after *corev1.Pod, writer string) {
	tracked, err := r.tracker.Update(sameResource(before), sameResource(after), writer)
	if err != nil {
		r.tb.Fatal(err)
	}
	after.ManagedFields = tracked.(*corev1.Pod).ManagedFields
	for i := range after.ManagedFields {
		if after.ManagedFields[i].Manager == kubelet {
			after.ManagedFields[i].Subresource = "status"
		}
	}
}

// sameResource returns a copy all of whose fields were written to the pod itself: the tracker knows no subresource.
func sameResource(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.ManagedFields {
		pod.ManagedFields[i].Subresource = ""
	}
	return pod
}

// encode returns the event as it is sent to who watches in protobuf: its length, then itself.
func encode(tb testing.TB, event watch.EventType, pod *corev1.Pod) []byte {
	tb.Helper()
	var object, framed bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(pod, &object); err != nil {
		tb.Fatal(err)
	}
	text, err := (&metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: object.Bytes()}}).Marshal()
	if err == nil {
		_, err = protobuf.LengthDelimitedFramer.NewFrameWriter(&framed).Write(text)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return framed.Bytes()
}
