package story_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/test/sim/builder"
)

// said is what a component reported, word for word, and a part of the advice that it deserves.
type said struct{ reason, message, want string }

// Of the scheduler and its volume plug-ins, in PodScheduled.
var byScheduler = []said{
	{"Unschedulable", "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found", "kubectl get pvc,storageclass -n team-a. Name a StorageClass"},
	{"Unschedulable", `persistentvolumeclaim "data" not found`, "Create the claim"},
	{"Unschedulable", `persistentvolumeclaim "data" is being deleted`, "Wait until the claim data is gone"},
	{"Unschedulable", "0/4 nodes are available: 4 node(s) had volume node affinity conflict. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.", "Let pods run where the volume is"},
	{"Unschedulable", "0/4 nodes are available: 4 node(s) didn't find available persistent volumes to bind.", "Have a volume provided"},
	{"Unschedulable", "0/4 nodes are available: 4 node(s) exceed max volume count.", "as many volumes as they can"},
	{"Unschedulable", "0/4 nodes are available: 4 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.", "ReadWriteMany"},
	{"Unschedulable", "0/4 nodes are available: 4 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: 4 No preemption victims found for incoming pod.", "Wait for room"},
	{"Unschedulable", "0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods.", "Wait for room"},
	{"Unschedulable", "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.", "Correct nodeSelector"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) had untolerated taint(s). preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.", "Tolerate the taint"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) had untolerated taint {nvidia.com/gpu: present}.", "Tolerate the taint"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) were unschedulable.", "kubectl uncordon"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.", "podAntiAffinity"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports.", "hostPort"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.", "hostPort"},
	{"Unschedulable", "0/6 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 5 node(s) didn't match Pod's node affinity/selector. preemption: 0/6 nodes are available: 1 No preemption victims found for incoming pod, 5 Preemption is not helpful for scheduling.", "hostPort"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.", "podAntiAffinity"},
	{"Unschedulable", "no nodes available to schedule pods", "the cluster has no node"},
	{"Unschedulable", `0/3 nodes are available: 3 cannot allocate all claims.`, "kubectl get resourceclaims"},
	{"Unschedulable", "a scheduler of one's own has its own words", "Wait for room"},
	{"SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates", "Ask who set schedulingGates"},
}

// Of the kubelet, in the state of a container.
var byKubelet = []said{
	{"ErrImageNeverPull", `Container image "lab.local/none:1" is not present with pull policy of Never`, "imagePullPolicy"},
	{"ImagePullBackOff", `Back-off pulling image "train:x": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/train:x": docker.io/library/train:x: not found`, "Correct the image's name or tag"},
	{"ErrImagePull", `failed to pull and unpack image "r.example.com/a:1": failed to resolve reference "r.example.com/a:1": unexpected status from HEAD request to https://r.example.com/v2/a/manifests/1: 403 Forbidden`, "imagePullSecrets"},
	{"ErrImagePull", `failed to pull and unpack image "docker.io/team/a:1": failed to resolve reference "docker.io/team/a:1": pull access denied, repository does not exist or may require authorization`, "imagePullSecrets"},
	{"ErrImagePull", `failed to pull and unpack image "r/a:1": failed to do request: Head "https://r/v2/a/manifests/1": dial tcp: lookup r: no such host`, "cannot reach the registry"},
	{"ErrImagePull", `429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit.`, "limits how often"},
	{"ErrImagePull", `failed to pull and unpack image "a:1": no match for platform in manifest: not found`, "Use an image for the platform"},
	{"InvalidImageName", `Failed to apply default image tag "Train:1": couldn't parse image name "Train:1": invalid reference format: repository name (library/Train) must be lowercase`, "Correct the image's name"},
	{"CreateContainerConfigError", `configmap "settings" not found`, "Create the missing ConfigMap or Secret"},
	{"CreateContainerConfigError", `secret "wandb" not found`, "Create the missing ConfigMap or Secret"},
	{"CreateContainerConfigError", `couldn't find key token in Secret default/wandb`, "Create the missing ConfigMap or Secret"},
	{"CreateContainerConfigError", `container has runAsNonRoot and image will run as root (pod: "a-worker-0_default(1)", container: main)`, "securityContext.runAsUser"},
	{"CreateContainerConfigError", `container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root`, "securityContext.runAsUser"},
	{"CreateContainerError", `failed to generate container "1" spec: failed to generate spec: no command specified`, "Check the command"},
	{"RunContainerError", `nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown`, "the NVIDIA runtime of node"},
	{"CrashLoopBackOff", `back-off 5m0s restarting failed container=main pod=a-worker-0`, "Read its log"},
}

func TestTheNextStepForEveryMessageOfAPod(t *testing.T) {
	for _, m := range append(byScheduler, byKubelet...) {
		job := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), phase(v1alpha1.PhasePending, m.reason, "worker-0: "+m.message))
		option := builder.Waiting(m.reason, m.message)
		if strings.HasPrefix(m.reason, "Sched") || m.reason == "Unschedulable" {
			option = builder.Edit(func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: m.reason, Message: m.message}}
			})
		}
		expectFirst(t, m, view(job, worker(job, 0, corev1.PodPending, option)))
	}
}

// Of admission: what keeps the operator from creating pods.
func TestTheNextStepForEveryRefusal(t *testing.T) {
	for _, m := range []said{
		{v1alpha1.ReasonQuotaExceeded, `pods "mnist-worker-1" is forbidden: exceeded quota: gpus, requested: nvidia.com/gpu=8, used: nvidia.com/gpu=8, limited: nvidia.com/gpu=8`, "kubectl describe quota -n team-a"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: failed quota: compute: must specify limits.cpu for: main; requests.memory for: main`, "Write the requests or limits"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: error looking up service account team-a/nope: serviceaccount "nope" not found`, "kubectl create serviceaccount -n team-a nope"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: no PriorityClass with name urgent was found`, "kubectl get priorityclasses"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false)`, "securityContext what the message lists"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: maximum cpu usage per Container is 4, but limit is 8`, "kubectl describe limitrange -n team-a"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: unable to create new content in namespace team-a because it is being terminated`, "another namespace"},
		{v1alpha1.ReasonForbidden, "the key of an MPI job is a Secret, which the operator may not create: apply manifests/components/mpi, or write mpi.launchAgent: None if the images do without SSH; the API server says: secrets is forbidden", "kubectl apply -k manifests/components/mpi"},
		{v1alpha1.ReasonForbidden, `admission webhook "validate.kyverno.svc-fail" denied the request: no image from docker.io`, "Change the template as the message shows"},
		{v1alpha1.ReasonForbidden, `pods "mnist-worker-0" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'images' denied request: images come from r.example.com`, "Change the template as the message shows"},
		{v1alpha1.ReasonForbidden, `pods is forbidden: User "system:serviceaccount:trainingjob-system:trainingjob-operator" cannot create resource "pods" in API group "" in the namespace "team-a"`, "the operator lacks this right"},
		{v1alpha1.ReasonAdmissionUnavailable, `Internal error occurred: failed calling webhook "mutate.mesh.io": failed to call webhook: Post "https://mesh.istio-system.svc:443/inject?timeout=10s": no endpoints available for service "mesh"`, "the admission webhook mutate.mesh.io does not answer"},
		{v1alpha1.ReasonInvalid, `Pod "mnist-worker-0" is invalid: spec.containers[0].volumeMounts[0].name: Not found: "data"`, "Correct what the message names"},
		{v1alpha1.ReasonNameConflict, "Service mnist exists and has another owner: delete it, or give the job another name", "Follow the message"},
	} {
		job := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), phase(v1alpha1.PhasePending, m.reason, m.message), builder.Condition(v1alpha1.ConditionStalled, true, m.reason, 0))
		expectFirst(t, m, view(job))
	}
}

// Of Kueue, in the condition that its adapter copies to the job.
func TestTheNextStepForEveryMessageOfAQueue(t *testing.T) {
	for _, m := range []said{
		{v1alpha1.ReasonQueued, "LocalQueue team doesn't exist", "kueue.x-k8s.io/queue-name"},
		{v1alpha1.ReasonQueued, "ClusterQueue gpus doesn't exist", "queue gpus admits no jobs"},
		{v1alpha1.ReasonQueued, "ClusterQueue gpus is inactive", "queue gpus admits no jobs"},
		{v1alpha1.ReasonQueued, "LocalQueue team is stopped", "queue team admits no jobs"},
		{v1alpha1.ReasonQueued, "couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor h100, 8 more needed", "Wait for the queue, or request less"},
		{v1alpha1.ReasonQueued, "couldn't assign flavors to pod set worker: insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + current podset request (64) > maximum capacity (16)", "never has room"},
		{v1alpha1.ReasonQueued, "Exceeded the PodsReady timeout team-a/trainingjob-mnist-1f2e3", "See what its pods waited for: kubectl describe tj -n team-a mnist"},
		{v1alpha1.ReasonQueued, "The workload is deactivated due to exceeding the maximum number of re-queuing retries", "kubectl tj suspend -n team-a mnist, kubectl edit tj -n team-a mnist, kubectl tj resume -n team-a mnist"},
		{v1alpha1.ReasonQueued, "The workload is deactivated", "Ask an administrator why"},
		{v1alpha1.ReasonQueued, "The job waits to be admitted by queue team-a.", "kubectl get workloads.kueue.x-k8s.io -n team-a"},
	} {
		job := builder.Job("mnist", builder.Workers(1), builder.Suspended(), builder.Condition(v1alpha1.ConditionQueued, true, m.reason, 0), phase(v1alpha1.PhaseQueued, m.reason, m.message))
		expectFirst(t, m, view(job))
	}
}

// Of volumes, in the Events of a pod that gets no containers.
func TestTheNextStepForEveryVolumeThatDoesNotMount(t *testing.T) {
	for _, m := range []said{
		{"FailedMount", `MountVolume.SetUp failed for volume "token" : secret "wandb" not found`, "Create the missing ConfigMap or Secret"},
		{"FailedMount", `MountVolume.SetUp failed for volume "settings" : configmap "settings" not found`, "Create the missing ConfigMap or Secret"},
		{"FailedMount", `MountVolume.SetUp failed for volume "data" : mount failed: exit status 32 Output: mount.nfs: Connection timed out`, "See why the volume does not mount"},
		{"FailedAttachVolume", `Multi-Attach error for volume "pvc-1" Volume is already exclusively attached to one node and can't be attached to another`, "ReadWriteMany"},
		{"FailedCreatePodSandBox", `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured`, "the NVIDIA runtime of node"},
		{"FailedCreatePodSandBox", `Failed to create pod sandbox: plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized`, "cannot set up the pod's network"},
	} {
		job := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), phase(v1alpha1.PhasePending, v1alpha1.ReasonReplicasStarting, "worker-0 starts."))
		pod := worker(job, 0, corev1.PodPending, builder.Waiting("ContainerCreating", ""), builder.On("gpu-1"))
		v := view(job, pod)
		if len(v.Suspects()) != 1 {
			t.Fatalf("%s: the Events of the pod are not read", m.reason)
		}
		v.PodEvents = []corev1.Event{{Type: corev1.EventTypeWarning, Reason: m.reason, Message: m.message, InvolvedObject: corev1.ObjectReference{Name: pod.Name}}}
		expectFirst(t, m, v)
	}
}

// A pod is stuck under a side-car or without a node, too: the Events of the first one with a warning are read.
func TestPodsThatDoNotStartAreSuspects(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), phase(v1alpha1.PhasePending, v1alpha1.ReasonReplicasStarting, "worker-0 starts."))
	for name, c := range map[string]struct {
		options []builder.PodOption
		want    int
	}{
		"behind an init container": {[]builder.PodOption{builder.Waiting("PodInitializing", ""), builder.On("gpu-1")}, 1},
		"without a node":           {nil, 1},
		"without room":             {[]builder.PodOption{builder.Unschedulable("0/2 nodes are available")}, 0},
	} {
		v := view(job, worker(job, 0, corev1.PodPending, c.options...))
		if got := v.Suspects(); len(got) != c.want {
			t.Errorf("%s: %d suspects, want %d", name, len(got), c.want)
		}
	}
	pod := worker(job, 0, corev1.PodPending)
	v := view(job, pod)
	v.PodEvents = []corev1.Event{{Type: corev1.EventTypeWarning, Reason: "FailedResourceClaimCreation", InvolvedObject: corev1.ObjectReference{Name: pod.Name},
		Message: `PodResourceClaim gpu: resource claim template "eight-gpus": resourceclaimtemplate.resource.k8s.io "eight-gpus" not found`}}
	expectFirst(t, said{"FailedResourceClaimCreation", "", "Create the missing ResourceClaimTemplate"}, v)
}

// A page that the operator cannot read is no hang: the training may go on.
func TestAPageThatIsNotReadIsNoHang(t *testing.T) {
	job := builder.Job("mnist", builder.Workers(1), builder.StartedAt(0), phase(v1alpha1.PhaseRunning, v1alpha1.ReasonAllReplicasRunning, "All replicas run."))
	for reason, want := range map[string][2]string{
		v1alpha1.ReasonProgressUnread: {"mnist runs, and its progress is not known: connection refused.", "Call trainingjob.report() first of all"},
		"ProgressStalled":             {"mnist runs but makes no progress: connection refused.", "See where the ranks wait"},
	} {
		job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: "False", Reason: reason, Message: "connection refused."}}
		e, err := story.Why(view(job, worker(job, 0, corev1.PodRunning)))
		if err != nil || e.Sentence != want[0] || !strings.Contains(strings.Join(e.Next, "\n"), want[1]) {
			t.Errorf("%s: %q, next %q, %v", reason, e.Sentence, e.Next, err)
		}
	}
}

// Half a job that waits for ever holds its nodes: the advice says how to bound that.
func TestHalfAJobThatWaitsSaysWhatItHolds(t *testing.T) {
	limits := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	gpus := builder.Of(v1alpha1.Worker, builder.Template(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = limits }))
	unplaced := builder.Unschedulable("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
	job := builder.Job("mnist", builder.Workers(3), gpus, builder.StartedAt(0), phase(v1alpha1.PhasePending, v1alpha1.ReasonUnschedulable, "worker-2: no room"))
	e, err := story.Why(view(job, worker(job, 0, corev1.PodRunning), worker(job, 1, corev1.PodRunning), worker(job, 2, corev1.PodPending, unplaced)))
	if text := strings.Join(e.Next, "\n"); err != nil || !strings.Contains(text, "2 replicas with 16 GPUs of the job wait for the rest") {
		t.Errorf("%v, next:\n%s", err, text)
	}
}

// expectFirst expects the advice to be the first one, in the words of names that exist.
func expectFirst(t *testing.T, m said, v *story.View) {
	t.Helper()
	e, err := story.Why(v)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Next) == 0 || !strings.Contains(e.Next[0], m.want) {
		t.Errorf("%s: %s\nnext %q, want %q", m.reason, m.message, e.Next, m.want)
	}
	for _, text := range e.Next {
		if strings.Contains(text, "  ") {
			t.Errorf("%s: a name is left out: %q", m.reason, text)
		}
	}
}

// The ends of programs, and a part of the next step.
func TestTheCommonFailuresOfGPUsHaveANextStep(t *testing.T) {
	for line, want := range map[string]string{
		"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.":                                 "Use smaller batches",
		"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184": "Use smaller batches",
		"RuntimeError: CUDA error: device-side assert triggered":                                                       "not below the number of classes",
		"RuntimeError: CUDA error: an illegal memory access was encountered":                                           "CUDA_LAUNCH_BLOCKING=1",
		"Last error: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 4000":                              "torch.cuda.set_device()",
		"[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42)":                                   "kubectl tj logs -n team-a mnist --attempt 0 --tail 20",
		"RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version":                       "newer driver than node gpu-7 has",
		"RuntimeError: CUDA error: no kernel image is available for execution on the device":                           "was not built for this GPU",
		"ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory":                        "lacks a library of CUDA",
		"RuntimeError: No CUDA GPUs are available":                                                                     "Request one in resources.limits",
		"RuntimeError: DataLoader worker (pid 123) is killed by signal: Bus error. It is possible that":                "emptyDir of medium Memory",
		"DistNetworkError: port: 29500, code: -98, name: EADDRINUSE, message: address already in use":                  "uses the port",
	} {
		f := failure(v1alpha1.CauseRetryable, "Error", 1, 1)
		job := builder.Job("mnist", builder.Workers(3), builder.StartedAt(0), phase(v1alpha1.PhaseFailed, v1alpha1.ReasonMaxRestartsExceeded, "worker-1 failed."),
			builder.Condition(v1alpha1.ConditionFailed, true, v1alpha1.ReasonMaxRestartsExceeded, 0), lastFailure(f, line))
		e, err := story.Why(view(job))
		if text := strings.Join(e.Next, "\n"); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v, %q, want %q", line, err, text, want)
		}
	}
}
