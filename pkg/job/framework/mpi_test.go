package framework_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

// podOf returns the pod of a slot as the operator would create it.
func podOf(job *v1alpha1.TrainingJob, slot state.Slot) *corev1.Pod {
	pod := build.Pod(job, slot, state.Life{}, framework.Environment(job)(slot), nil)
	framework.Complete(job)(slot, pod)
	return pod
}

var (
	theLauncher = state.Slot{Role: v1alpha1.Launcher}
	firstWorker = state.Slot{Role: v1alpha1.Worker}
)

func TestPodsOfMPIJobsAreWhatTheGoldenFilesSay(t *testing.T) {
	for name, c := range map[string]struct {
		job  *v1alpha1.TrainingJob
		slot state.Slot
	}{
		"the launcher of an mpi job that launches by ssh":              {newJob(v1alpha1.MPI, launcher, workers(2)), theLauncher},
		"a worker of an mpi job that launches by ssh":                  {newJob(v1alpha1.MPI, launcher, workers(2)), firstWorker},
		"the launcher of an mpi job that launches in a way of its own": {newJob(v1alpha1.MPI, launcher, workers(2), launchedBy(v1alpha1.LaunchAgentNone)), theLauncher},
		"a worker of an mpi job that launches in a way of its own":     {newJob(v1alpha1.MPI, launcher, workers(2), launchedBy(v1alpha1.LaunchAgentNone)), firstWorker},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podOf(c.job, c.slot)
			got, err := yaml.Marshal(map[string]any{"annotations": pod.Annotations, "spec": pod.Spec})
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+".golden")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

func slotsPerWorker(n int32) option {
	return func(job *v1alpha1.TrainingJob) { job.Spec.MPI = &v1alpha1.MPISpec{SlotsPerWorker: &n} }
}

func TestHowManyRanksAWorkerOfAnMPIJobHas(t *testing.T) {
	worker := v1alpha1.Worker
	for why, c := range map[string]struct {
		options []option
		want    int
	}{
		"nothing says more":                      {nil, 1},
		"it has GPUs":                            {[]option{limit(worker, "nvidia.com/gpu", "8")}, 8},
		"it has Gaudis":                          {[]option{limit(worker, "habana.ai/gaudi", "4")}, 4},
		"CPUs are no slots":                      {[]option{limit(worker, "cpu", "64")}, 1},
		"the launcher's GPUs are not its":        {[]option{limit(v1alpha1.Launcher, "nvidia.com/gpu", "8")}, 1},
		"what the job says stands above devices": {[]option{limit(worker, "nvidia.com/gpu", "8"), slotsPerWorker(2)}, 2},
	} {
		job := newJob(v1alpha1.MPI, append([]option{launcher, workers(3)}, c.options...)...)
		var hosts, machines string
		for i := range 3 {
			hosts += fmt.Sprintf("mnist-worker-%d.mnist slots=%d\n", i, c.want)
			machines += fmt.Sprintf("mnist-worker-%d.mnist:%d\n", i, c.want)
		}
		pod := podOf(job, theLauncher)
		if got := pod.Annotations["trainingjob.dev/hostfile"]; got != hosts {
			t.Errorf("%s: the host file is\n%swant\n%s", why, got, hosts)
		}
		if got := pod.Annotations["trainingjob.dev/machinefile"]; got != machines {
			t.Errorf("%s: the machine file is\n%swant\n%s", why, got, machines)
		}
	}
}

// The rule of the API is replicas * (4 * size(metadata.name) + 48) <= 250000; Kubernetes takes 256 KiB of annotations.
func TestTheListsOfTheLargestMPIJobsThatTheAPITakesFitTheAnnotations(t *testing.T) {
	for _, length := range []int{1, 5, 20, 52} {
		n := min(250000/(4*length+48), 10000)
		job := newJob(v1alpha1.MPI, launcher, workers(n), slotsPerWorker(1024), named("team-a", strings.Repeat("j", length)))
		size := 0
		for key, value := range podOf(job, theLauncher).Annotations {
			size += len(key) + len(value)
		}
		if most := 256 << 10; size > most || size < most/2 {
			t.Errorf("%d workers of a name of %d letters need %d bytes of %d", n, length, size, most)
		}
	}
}

func TestAWorkerWithSomethingToRunKeepsIt(t *testing.T) {
	for why, set := range map[string]func(*corev1.Container){
		"a command": func(c *corev1.Container) { c.Command = []string{"/own-sshd"} },
		"arguments": func(c *corev1.Container) { c.Args = []string{"serve"} },
	} {
		job := newJob(v1alpha1.MPI, launcher, workers(1))
		set(&job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0])
		want := job.Spec.ReplicaSpecs[v1alpha1.Worker].Template.Spec.Containers[0]
		got := podOf(job, firstWorker).Spec.Containers[0]
		if diff := cmp.Diff(append(want.Command, want.Args...), append(got.Command, got.Args...)); diff != "" {
			t.Errorf("a worker with %s (-want +got):\n%s", why, diff)
		}
	}
	if got := podOf(newJob(v1alpha1.MPI, launcher, workers(1)), theLauncher).Spec.Containers[0].Command; got != nil {
		t.Errorf("a launcher without command, which runs its image's own, has the command %q", got)
	}
}

// ssh refuses a key of its own user's that others may read, and a user other than root cannot read root's.
func TestWhoMayReadTheKey(t *testing.T) {
	user := func(uid int64) *corev1.PodSecurityContext { return &corev1.PodSecurityContext{RunAsUser: &uid} }
	own := func(uid int64) *corev1.SecurityContext { return &corev1.SecurityContext{RunAsUser: &uid} }
	for why, c := range map[string]struct {
		pod       *corev1.PodSecurityContext
		container *corev1.SecurityContext
		want      int32
	}{
		"the image says who it is, so it may be root": {nil, nil, 0o600},
		"root":                                         {user(0), nil, 0o600},
		"another user":                                 {user(1000), nil, 0o444},
		"whoever it is, it is not root":                {&corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)}, nil, 0o444},
		"the container has another user":               {user(0), own(1000), 0o444},
		"the container is root":                        {user(1000), own(0), 0o600},
		"the container only is known not to be root":   {nil, &corev1.SecurityContext{RunAsNonRoot: ptr.To(true)}, 0o444},
		"it says nothing with a security context, too": {&corev1.PodSecurityContext{}, &corev1.SecurityContext{}, 0o600},
	} {
		job := newJob(v1alpha1.MPI, launcher, workers(1))
		template := job.Spec.ReplicaSpecs[v1alpha1.Worker].Template
		template.Spec.SecurityContext, template.Spec.Containers[0].SecurityContext = c.pod, c.container
		job.Spec.ReplicaSpecs[v1alpha1.Worker] = v1alpha1.ReplicaSpec{Replicas: ptr.To[int32](1), Template: template}
		for _, source := range podOf(job, firstWorker).Spec.Volumes[0].Projected.Sources {
			for _, item := range source.Secret.Items {
				if *item.Mode != c.want {
					t.Errorf("%s: %s has mode %o, want %o", why, item.Path, *item.Mode, c.want)
				}
			}
		}
	}
}

// sshd runs in the container that the template calls its main one, wherever it stands.
func TestSSHDRunsInTheMainContainer(t *testing.T) {
	job := newJob(v1alpha1.MPI, launcher, workers(1))
	replicas := job.Spec.ReplicaSpecs[v1alpha1.Worker]
	replicas.Template.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "ranks"}
	replicas.Template.Spec.Containers = []corev1.Container{{Name: "proxy"}, {Name: "ranks"}}
	job.Spec.ReplicaSpecs[v1alpha1.Worker] = replicas
	pod := podOf(job, firstWorker)
	if len(pod.Spec.Containers[0].Command) > 0 || len(pod.Spec.Containers[1].Command) == 0 {
		t.Errorf("the proxy runs %v, the ranks' container %v", pod.Spec.Containers[0].Command, pod.Spec.Containers[1].Command)
	}
}

// The files are where the variables and the configurations of ssh say.
func TestEveryFileThatIsNamedIsThere(t *testing.T) {
	job := newJob(v1alpha1.MPI, launcher, workers(1))
	pod := podOf(job, theLauncher)
	there := map[string]bool{}
	for _, source := range pod.Spec.Volumes[0].Projected.Sources {
		if source.Secret != nil {
			for _, item := range source.Secret.Items {
				there["/etc/mpi/"+item.Path] = true
			}
		}
		if source.DownwardAPI != nil {
			for _, item := range source.DownwardAPI.Items {
				there["/etc/mpi/"+item.Path] = true
			}
		}
	}
	var text strings.Builder
	for _, v := range pod.Spec.Containers[0].Env {
		fmt.Fprintln(&text, v.Value)
	}
	for _, value := range build.SSHSecret(job, build.SSHKey{}).Data {
		text.Write(value)
	}
	fmt.Fprintln(&text, podOf(job, firstWorker).Spec.Containers[0].Command)
	words, named := bufio.NewScanner(strings.NewReader(text.String())), 0
	words.Split(bufio.ScanWords)
	for words.Scan() {
		if file := words.Text(); strings.HasPrefix(file, "/etc/mpi/") {
			named++
			if !there[file] {
				t.Errorf("%s is named and not there; there are %v", file, there)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d files are named", named)
	}
}
