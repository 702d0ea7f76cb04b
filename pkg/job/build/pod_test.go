package build_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

var worker1 = state.Slot{Role: v1alpha1.Worker, Index: 1}

// rich is a template that sets something of everything.
func rich(template *corev1.PodTemplateSpec) {
	seconds, yes := int64(7), true
	template.Labels = map[string]string{"app": "train", v1alpha1.LabelRole: "boss"}
	template.Annotations = map[string]string{"note": "mine"}
	template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, Hostname: "mine", Subdomain: "mine",
		ServiceAccountName: "trainer", NodeSelector: map[string]string{"gpu": "yes"}, PriorityClassName: "train",
		TerminationGracePeriodSeconds: &seconds, HostNetwork: yes, ShareProcessNamespace: &yes,
		Tolerations:    []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		Volumes:        []corev1.Volume{{Name: "data"}},
		InitContainers: []corev1.Container{{Name: "fetch", Image: "fetch", Env: []corev1.EnvVar{{Name: "FROM", Value: "s3"}}}},
		Containers: []corev1.Container{
			{Name: "main", Image: "train", Env: []corev1.EnvVar{{Name: "RANK", Value: "mine"}, {Name: "WHO", Value: "$(TRAININGJOB_RANK)"}}},
			{Name: "logs", Image: "logs"},
		},
	}
}

// TestAPodIsTheTemplateAndTheInjectionsNothingElse takes out what the package comment lists and compares the rest.
func TestAPodIsTheTemplateAndTheInjectionsNothingElse(t *testing.T) {
	for _, f := range []v1alpha1.Framework{v1alpha1.PyTorch, v1alpha1.TensorFlow, v1alpha1.JAX, v1alpha1.Custom} {
		job := builder.Job("j", builder.Framework(f), builder.Workers(2, builder.Template(rich)))
		worker := job.Spec.ReplicaSpecs[v1alpha1.Worker]
		want := worker.Template.DeepCopy()
		pod := build.Pod(job, worker1, state.Life{Attempt: 1}, framework.Environment(job)(worker1), []string{"bad"})
		delete(pod.Annotations, v1alpha1.AnnotationLifeNumber)
		delete(pod.Annotations, state.AnnotationMain)
		got := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: *pod.Spec.DeepCopy()}
		for name := range got.Labels {
			if strings.HasPrefix(name, v1alpha1.Group+"/") || strings.HasPrefix(name, "training.kubeflow.org/") {
				delete(got.Labels, name)
				delete(want.Labels, name)
			}
		}
		got.Spec.Hostname, got.Spec.Subdomain, got.Spec.RestartPolicy = want.Spec.Hostname, want.Spec.Subdomain, want.Spec.RestartPolicy
		got.Spec.Affinity, got.Spec.DNSPolicy = want.Spec.Affinity, want.Spec.DNSPolicy
		got.Spec.Tolerations = slices.DeleteFunc(got.Spec.Tolerations, func(t corev1.Toleration) bool { return t.TolerationSeconds != nil && *t.TolerationSeconds == 30 })
		for _, containers := range [][]corev1.Container{want.Spec.InitContainers, want.Spec.Containers} {
			for i := range containers {
				containers[i].TerminationMessagePolicy = "FallbackToLogsOnError"
			}
		}
		for i := range got.Spec.Containers {
			got.Spec.Containers[i].Ports = nil // of hostNetwork
			got.Spec.Containers[i].Env = ownEnv(got.Spec.Containers[i].Env, want.Spec.Containers[i].Env)
		}
		for i := range got.Spec.InitContainers {
			got.Spec.InitContainers[i].Env = ownEnv(got.Spec.InitContainers[i].Env, want.Spec.InitContainers[i].Env)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: beside the injections (-template +pod):\n%s", f, diff)
		}
		if diff := cmp.Diff(job.Spec.ReplicaSpecs[v1alpha1.Worker].Template, builder.Job("j", builder.Workers(2, builder.Template(rich))).Spec.ReplicaSpecs[v1alpha1.Worker].Template); diff != "" {
			t.Errorf("%s: the job's template has changed:\n%s", f, diff)
		}
	}
}

// The end of the log is the last word of a container, unless its template names a policy: File too.
func TestAContainerLeavesLastWords(t *testing.T) {
	template := func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers = []corev1.Container{{Name: "main"}, {Name: "file", TerminationMessagePolicy: "File"}}
		template.Spec.InitContainers = []corev1.Container{{Name: "fetch"}}
	}
	job := builder.Job("j", builder.Workers(2, builder.Template(template)))
	pod := build.Pod(job, worker1, state.Life{}, nil, nil)
	got := map[string]string{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		got[c.Name] = string(c.TerminationMessagePolicy)
	}
	want := map[string]string{"main": "FallbackToLogsOnError", "fetch": "FallbackToLogsOnError", "file": "File"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

// ownEnv returns the end of the variables, where the template's own stand.
func ownEnv(all, own []corev1.EnvVar) []corev1.EnvVar {
	if len(own) == 0 {
		return nil
	}
	return all[len(all)-len(own):]
}

func TestInjections(t *testing.T) {
	job := builder.Job("j", pytorch, builder.Workers(2, builder.Template(rich)), builder.PS(1), builder.Attempt(2), lives(5))
	pod := build.Pod(job, worker1, state.Life{Attempt: 2, Replacement: 3}, nil, nil)
	yes := true
	want := metav1.ObjectMeta{
		Name: "j-worker-1-a2r3", Namespace: "team-a",
		Annotations: map[string]string{"note": "mine", "trainingjob.dev/life-number": "2000005", "kubectl.kubernetes.io/default-container": "main"},
		Labels: map[string]string{
			"app": "train", "trainingjob.dev/job-name": "j", "trainingjob.dev/job-uid": "uid-j", "trainingjob.dev/role": "worker",
			"trainingjob.dev/index": "1", "trainingjob.dev/rank": "1", "trainingjob.dev/attempt": "2", "trainingjob.dev/life": "2-3",
			"training.kubeflow.org/job-name": "j", "training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1",
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob", Name: "j", UID: "uid-j", Controller: &yes, BlockOwnerDeletion: &yes}},
	}
	if diff := cmp.Diff(want, pod.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if pod.Spec.Hostname != "j-worker-1" || pod.Spec.Subdomain != "j" || pod.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("host name %s, subdomain %s, restartPolicy %s", pod.Spec.Hostname, pod.Spec.Subdomain, pod.Spec.RestartPolicy)
	}
	leader := build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil)
	if leader.Labels[v1alpha1.KubeflowLabelJobRole] != "master" {
		t.Errorf("the leader's labels are %v", leader.Labels)
	}
}

var pytorch = builder.Framework(v1alpha1.PyTorch)

// lives says how often replicas got their next life within the attempt.
func lives(n int32) builder.JobOption {
	return builder.Status(func(s *v1alpha1.TrainingJobStatus) { s.Memory.Lives = n })
}

func TestEnvironment(t *testing.T) {
	job := builder.Job("j", builder.Workers(2, builder.Template(rich)), builder.Attempt(2))
	pod := build.Pod(job, worker1, state.Life{Attempt: 2}, []corev1.EnvVar{{Name: "RANK", Value: "1"}, {Name: "WORLD_SIZE", Value: "2"}}, nil)
	identity := []corev1.EnvVar{
		{Name: "TRAININGJOB_ATTEMPT", Value: "2"}, {Name: "TRAININGJOB_LIFE", Value: "2000000"}, {Name: "TRAININGJOB_RANK", Value: "1"},
	}
	injected := func(more ...corev1.EnvVar) []corev1.EnvVar { return slices.Concat(identity, more) }
	worldSize, rank := corev1.EnvVar{Name: "WORLD_SIZE", Value: "2"}, corev1.EnvVar{Name: "RANK", Value: "1"}
	reports := build.Pod(builder.Job("j", builder.Workers(2), builder.Progress(60, v1alpha1.StallNotify), builder.Attempt(2)), worker1, state.Life{Attempt: 2}, nil, nil)
	cases := []struct {
		name string
		got  []corev1.EnvVar
		want []corev1.EnvVar
	}{
		{"a job that reports its progress is told where", reports.Spec.Containers[0].Env, injected(corev1.EnvVar{Name: "TRAININGJOB_PROGRESS_PORT", Value: "9500"})},
		{"the injected variables come first, so that the user's can refer to them; where both set one, the user's wins",
			pod.Spec.Containers[0].Env, injected(worldSize, corev1.EnvVar{Name: "RANK", Value: "mine"}, corev1.EnvVar{Name: "WHO", Value: "$(TRAININGJOB_RANK)"})},
		{"every container gets them", pod.Spec.Containers[1].Env, injected(rank, worldSize)},
		{"init containers too", pod.Spec.InitContainers[0].Env, injected(rank, worldSize, corev1.EnvVar{Name: "FROM", Value: "s3"})},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvConflicts(t *testing.T) {
	sets := func(names ...string) builder.JobOption {
		return builder.Of(v1alpha1.Worker, builder.Template(func(template *corev1.PodTemplateSpec) {
			template.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			for i, name := range names {
				c := &template.Spec.Containers[0]
				if i%2 == 1 {
					c = &template.Spec.InitContainers[0]
				}
				c.Env = append(c.Env, corev1.EnvVar{Name: name})
			}
		}))
	}
	env := []corev1.EnvVar{{Name: "RANK"}, {Name: "MASTER_ADDR"}}
	served := builder.Job("j", builder.Workers(1), sets("RANK"))
	served.OwnerReferences = []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "PyTorchJob", Name: "j", Controller: ptr.To(true)}}
	cases := []struct {
		name string
		job  *v1alpha1.TrainingJob
		want []string
	}{
		{"a job that serves a Kubeflow job has none", served, nil},
		{"the template sets none", builder.Job("j", builder.Workers(1), sets("PATH")), nil},
		{"conflicts are sorted and named once", builder.Job("j", builder.Workers(1), sets("RANK", "RANK", "PATH", "MASTER_ADDR", "TRAININGJOB_RANK")),
			[]string{"MASTER_ADDR", "RANK", "TRAININGJOB_RANK"}},
		{"a role without a template has none", builder.Job("j", builder.PS(1)), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, build.EnvConflicts(c.job, state.Slot{Role: v1alpha1.Worker}, env)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPort(t *testing.T) {
	job := builder.Job("j", builder.Framework(v1alpha1.TensorFlow), builder.Workers(1, builder.Template(func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{Name: "tfjob-port", ContainerPort: 7}}})
	})))
	if got := build.Port(job, v1alpha1.Worker); got != 7 {
		t.Errorf("port %d, want the template's 7", got)
	}
	if got := build.Port(job, v1alpha1.PS); got != 2222 {
		t.Errorf("port %d, want 2222, as there is none", got)
	}
}

func TestService(t *testing.T) {
	job := builder.Job("j", builder.Workers(1))
	got := build.Service(job, []int32{23456})
	yes := true
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "j", Namespace: "team-a",
			Labels: map[string]string{"trainingjob.dev/job-name": "j", "trainingjob.dev/job-uid": "uid-j", "training.kubeflow.org/job-name": "j"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob", Name: "j", UID: "uid-j",
				Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: corev1.ServiceSpec{ClusterIP: "None", PublishNotReadyAddresses: true,
			Ports:    []corev1.ServicePort{{Name: "tcp-23456", Port: 23456, Protocol: "TCP", AppProtocol: ptr.To("tcp")}},
			Selector: map[string]string{"trainingjob.dev/job-uid": "uid-j", "trainingjob.dev/job-name": "j", "trainingjob.dev/named": "true"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}
}

// FuzzPods checks that whatever a job looks like, no two of its pods share a name or rank, and all have valid host names and labels.
func FuzzPods(f *testing.F) {
	f.Add("j", uint8(1), uint8(3), uint8(2), uint8(1), uint8(0), "RANK", uint16(0), uint16(0))
	f.Add("worker-0", uint8(0), uint8(0), uint8(0), uint8(0), uint8(9), "", uint16(3), uint16(7))
	f.Add("ps-1-a1r1", uint8(3), uint8(9), uint8(9), uint8(9), uint8(40), "TF_CONFIG", uint16(65535), uint16(65535))
	frameworks := []v1alpha1.Framework{v1alpha1.PyTorch, v1alpha1.TensorFlow, v1alpha1.JAX, v1alpha1.Custom, "?"}
	f.Fuzz(func(t *testing.T, name string, which, workers, ps, evaluators, most uint8, env string, attempt, replacement uint16) {
		if len(validation.IsDNS1035Label(name)) > 0 || len(name) > 45 {
			return
		}
		job := builder.Job(name, builder.Framework(frameworks[int(which)%len(frameworks)]), builder.Leader(v1alpha1.Roles[which%3]),
			builder.Workers(int(workers), builder.Template(func(template *corev1.PodTemplateSpec) {
				template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: env}, {Name: env}}
			})), builder.PS(int(ps)), builder.Evaluators(int(evaluators)))
		if most >= workers && most > 0 {
			builder.Elastic(1, int(most))(job)
		}
		names, ranks := map[string]bool{}, map[string]bool{}
		environment := framework.Environment(job)
		for r := range builder.Snapshot(job).Replicas() {
			slot := r.Slot
			pod := build.Pod(job, slot, state.Life{Attempt: int(attempt), Replacement: int(replacement)}, environment(slot), []string{"bad"})
			rank := pod.Labels[v1alpha1.LabelRank]
			if names[pod.Name] || ranks[rank] {
				t.Errorf("%s of rank %s is there twice", pod.Name, rank)
			}
			names[pod.Name], ranks[rank] = true, true
			checkNames(t, pod)
			checkPlacement(t, &pod.Spec)
		}
	})
}

func checkNames(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	problems := slices.Concat(validation.IsDNS1123Subdomain(pod.Name), validation.IsDNS1123Label(pod.Spec.Hostname))
	for _, value := range pod.Labels {
		problems = append(problems, validation.IsValidLabelValue(value)...)
	}
	if len(problems) > 0 {
		t.Errorf("%s: %v", pod.Name, problems)
	}
}

// The kubelet keeps a pod behind a gate when its main container fails, and starts nothing in it before the gate opens.
func TestGate(t *testing.T) {
	inPlace := builder.Recovery(func(r *v1alpha1.Recovery) { r.RestartMethod = v1alpha1.RestartInPlace })
	always := corev1.ContainerRestartPolicyAlways
	for name, c := range map[string]struct {
		options []builder.JobOption
		gated   bool
	}{
		"a job that restarts in place":             {[]builder.JobOption{inPlace}, true},
		"one that does not":                        {nil, false},
		"a container that restarts in its own way": {[]builder.JobOption{inPlace, builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) { pod.Containers[0].RestartPolicy = &always }))}, false},
		"a template that has the variable of the gate": {[]builder.JobOption{inPlace, builder.EveryRole(builder.PodSpec(func(pod *corev1.PodSpec) {
			pod.Containers[0].Env = []corev1.EnvVar{{Name: v1alpha1.EnvStartGate, Value: "x"}}
		}))}, false},
	} {
		job := builder.Job("j", append([]builder.JobOption{builder.Workers(1)}, c.options...)...)
		pod := build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, nil)
		const disposable = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
		pod.Annotations[disposable] = "scratch"
		plain := pod.DeepCopy()
		if build.Gate(pod); !c.gated {
			if diff := cmp.Diff(plain, pod); diff != "" {
				t.Errorf("%s (-without +with a gate):\n%s", name, diff)
			}
			continue
		}
		main, last := &pod.Spec.Containers[0], len(pod.Spec.Containers[0].VolumeMounts)-1
		mount := corev1.VolumeMount{Name: "trainingjob-start-gate", MountPath: "/.trainingjob/start-gate", SubPathExpr: "$(TRAININGJOB_START_GATE)"}
		variable := corev1.EnvVar{Name: "TRAININGJOB_START_GATE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
			APIVersion: "v1", FieldPath: "metadata.annotations['trainingjob.dev/start-gate']"}}}
		if pod.Annotations["trainingjob.dev/start-gate"] != "open" || main.Env[0].ValueFrom == nil || !cmp.Equal(main.Env[0], variable) || !cmp.Equal(main.VolumeMounts[last], mount) {
			t.Errorf("%s: annotations %v, variable %+v, mount %+v", name, pod.Annotations, main.Env[0], main.VolumeMounts[last])
		}
		if got := pod.Annotations[disposable]; got != "scratch,trainingjob-start-gate" {
			t.Errorf("%s: the cluster autoscaler evicts pods with %q", name, got)
		}
		for code, again := range map[int32]bool{0: false, 1: true, 2: false, 93: true, 127: false, 137: true, 143: true} {
			if state.MatchesExit(&main.RestartPolicyRules[0], code) != again {
				t.Errorf("%s: the kubelet starts it again after %d: %t, want %t", name, code, !again, again)
			}
		}
	}
}
