package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// drawPods draws a pod or none for each replica of a job with a Master and two Workers.
func drawPods(t *rapid.T, phases ...string) []corev1.Pod {
	var pods []corev1.Pod
	for _, slot := range []string{"master-0", "worker-0", "worker-1"} {
		if phase := rapid.SampledFrom(phases).Draw(t, slot); phase != "" {
			pod := formerPod(slot + " " + phase + " newer")
			pod.Name = fmt.Sprint(slot, len(pods))
			pods = append(pods, pod)
		}
	}
	return pods
}

// What earlier lives and pods in deletion show, and the order of the list, have no effect; and pods that run are never replaced or ended.
func TestOnlyTheNewestPodsDecideTheFate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]string{"Never", "OnFailure", "ExitCode"}).Draw(t, "policy")
		job := parsed(t, strings.ReplaceAll(pytorchJob, "{replicas:", "{restartPolicy: "+policy+", replicas:"))
		served, err := job.Serve()
		if err != nil {
			t.Fatal(err)
		}
		now := start.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "seconds")) * time.Second)
		fateOf := func(pods []corev1.Pod) fate {
			got, _ := job.inherit(served, pods, now).fate()
			return got
		}
		pods := drawPods(t, "", "Pending", "Running", "Succeeded", "Failed 1", "Failed 137")
		want := fateOf(pods)
		more := slices.Clone(pods)
		for _, pod := range pods {
			slot := strings.TrimSuffix(pod.Name, pod.Name[len(pod.Name)-1:])
			more = append(more, formerPod(slot+" "+rapid.SampledFrom([]string{"Failed 1", "Succeeded", "Running going", "Failed 137 newer going"}).Draw(t, "past")))
		}
		if got := fateOf(rapid.Permutation(more).Draw(t, "order")); got != want {
			t.Errorf("the fate is %d, want %d as without pods of the past", got, want)
		}
		if got := fateOf(drawPods(t, "Pending", "Running")); got != goOn {
			t.Errorf("the fate of pods that run is %d", got)
		}
	})
}
