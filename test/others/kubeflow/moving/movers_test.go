//go:build kubeflow

package moving

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// movers are the jobs of a moving day, with what changes in them.
type movers struct {
	t         *testing.T
	namespace string
}

// create creates a PyTorchJob of a master and two workers. POLICY and NODES of the template can be replaced.
func (m movers) create(name string, change ...string) job {
	m.t.Helper()
	const template = `{restartPolicy: POLICY, replicas: COUNT, template: {spec: {NODES containers: [{name: pytorch, image: train}]}}}`
	text := `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: ` + name + `, namespace: ` + m.namespace + `}, spec: {RUN
		pytorchReplicaSpecs: {Master: ` + strings.Replace(template, "COUNT", "1", 1) + `, Worker: ` + strings.Replace(template, "COUNT", "2", 1) + `}}}`
	text = strings.NewReplacer(append(change, "POLICY", "OnFailure", "NODES", "", "RUN", "")...).Replace(text)
	if err := kube.Create(m.t.Context(), parse(m.t, text)); err != nil {
		m.t.Fatal(err)
	}
	return job{m.namespace, "PyTorchJob", name}
}

// hasPods waits until the job has three pods of that phase, and returns them. A failed pod may stay for its log.
func (m movers) hasPods(j job, phase corev1.PodPhase) map[string]corev1.Pod {
	m.t.Helper()
	var pods map[string]corev1.Pod
	until(m.t, j.name+" has 3 pods that are "+string(phase), func() (bool, any) {
		pods = j.pods(m.t)
		maps.DeleteFunc(pods, func(_ string, pod corev1.Pod) bool { return pod.Status.Phase != phase })
		return len(pods) == 3, slices.Collect(maps.Keys(pods))
	})
	return pods
}

// isNew waits until a TrainingJob serves the job and all its pods are others than these and run.
func (m movers) isNew(j job, former map[string]corev1.Pod) {
	m.t.Helper()
	until(m.t, "all pods of "+j.name+" are new and run", func() (bool, any) {
		pods := j.pods(m.t)
		for name, pod := range pods {
			if pod.Status.Phase != corev1.PodRunning || pod.UID == former[name].UID {
				return false, name
			}
		}
		return len(pods) == 3 && m.isServed(j), len(pods)
	})
}

// isServed reports whether the job has a TrainingJob.
func (m movers) isServed(j job) bool {
	m.t.Helper()
	err := kube.Get(m.t.Context(), client.ObjectKey{Namespace: j.namespace, Name: j.name}, &v1alpha1.TrainingJob{})
	if client.IgnoreNotFound(err) != nil {
		m.t.Fatal(err)
	}
	return err == nil
}

func uids(pods map[string]corev1.Pod) []types.UID {
	var list []types.UID
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		list = append(list, pods[name].UID)
	}
	return list
}

// watchDoubles fails the test if two pods of one replica run at the same time.
func (m movers) watchDoubles() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	pods, err := kube.Watch(ctx, &corev1.PodList{}, client.InNamespace(m.namespace))
	if err != nil {
		cancel()
		m.t.Fatal(err)
	}
	done := make(chan struct{})
	m.t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		running := map[string]types.UID{}
		for event := range pods.ResultChan() {
			pod, isPod := event.Object.(*corev1.Pod)
			if !isPod {
				if err := apierrors.FromObject(event.Object); ctx.Err() == nil {
					m.t.Errorf("watching pods: %v", err)
				}
				return
			}
			replica := strings.Join([]string{
				pod.Labels["training.kubeflow.org/job-name"], pod.Labels["training.kubeflow.org/replica-type"], pod.Labels["training.kubeflow.org/replica-index"],
			}, "-")
			runs := event.Type != watch.Deleted && pod.Status.Phase == corev1.PodRunning
			switch other := running[replica]; {
			case runs && other != "" && other != pod.UID:
				m.t.Errorf("two pods of %s run: %s and %s", replica, other, pod.UID)
			case runs:
				running[replica] = pod.UID
			case other == pod.UID:
				delete(running, replica)
			}
		}
	}()
}
