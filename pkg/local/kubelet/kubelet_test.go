//go:build linux

package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/pkg/local/server"
)

// The words of a pod's end are those that real kubelets write (test/sim/transcript).
func TestHowAPodEnds(t *testing.T) {
	fallback := func(script string) corev1.PodSpec {
		spec := one(script)
		spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		return spec
	}
	failingInit := one("echo main")
	failingInit.InitContainers = []corev1.Container{shell("first", "exit 5"), shell("second", "echo second")}
	two := corev1.PodSpec{Containers: []corev1.Container{shell("main", "exit 0"), shell("side", "exit 4")}}
	lacking := one("")
	lacking.Containers[0].Command = []string{"/no/such/program"}
	for _, c := range []struct {
		name    string
		spec    corev1.PodSpec
		phase   corev1.PodPhase
		code    int32
		reason  string
		message string
	}{
		{"by exit code 0", one("echo done"), corev1.PodSucceeded, 0, "Completed", ""},
		{"by an exit code", fallback("echo one; echo two >&2; exit 3"), corev1.PodFailed, 3, "Error", "one\ntwo\n"},
		{"by a signal", one("kill -9 $$$$"), corev1.PodFailed, 137, "Error", ""},
		{"by the code of its second container", two, corev1.PodFailed, 0, "Completed", ""},
		{"with a message of its own", fallback("echo log; echo words > /dev/termination-log; exit 1"), corev1.PodFailed, 1, "Error", "words\n"},
		{"without a program", lacking, corev1.PodFailed, 128, "StartError", "exec: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t, nil)
			m.create(c.spec)
			pod := m.ends()
			end := mainOf(pod).State.Terminated
			if pod.Status.Phase != c.phase || end == nil || end.ExitCode != c.code || end.Reason != c.reason || !strings.HasPrefix(end.Message, c.message) {
				t.Errorf("phase %s, end %+v; want %s, %d, %s, %q", pod.Status.Phase, end, c.phase, c.code, c.reason, c.message)
			}
		})
	}
	t.Run("by its first init container", func(t *testing.T) {
		m := newMachine(t, nil)
		m.create(failingInit)
		pod := m.ends()
		if pod.Status.Phase != corev1.PodFailed || pod.Status.InitContainerStatuses[0].State.Terminated.ExitCode != 5 || m.printed() != "" {
			t.Errorf("phase %s, printed %q: the other containers must not start", pod.Status.Phase, m.printed())
		}
	})
}

func TestInitContainersRunInOrderAndSideCarsBesides(t *testing.T) {
	m := newMachine(t, nil)
	spec := one("echo main; until test -e $DONE; do sleep 0.01; done")
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "DONE", Value: "/shared/done"}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}}
	side := shell("side", "trap 'echo side ends; exit 0' TERM; echo side; while :; do sleep 0.01; done")
	side.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	spec.InitContainers = []corev1.Container{shell("first", "sleep 0.1; echo first"), shell("second", "echo second"), side}
	spec.Volumes = []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	m.create(spec)
	m.prints("main")
	m.prints("side")
	if m.pod("p").Status.Phase != corev1.PodRunning {
		m.until("the pod runs", func() bool { return m.pod("p").Status.Phase == corev1.PodRunning })
	}
	if err := os.WriteFile(filepath.Join(m.Folder, "pods/p/volumes/shared/done"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pod := m.ends()
	got := strings.Fields(strings.ReplaceAll(m.printed(), "side ends", "ended"))
	if pod.Status.Phase != corev1.PodSucceeded || strings.Join(got[:2], " ") != "first second" || got[len(got)-1] != "ended" {
		t.Errorf("phase %s, printed %v", pod.Status.Phase, got)
	}
}

func TestDeletionSendsSIGTERMAndThenSIGKILL(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		grace  int64
		code   int32
	}{
		"a program that ends":     {"trap 'exit 143' TERM; echo on; while :; do sleep 0.01; done", 30, 143},
		"one that saves and ends": {"trap 'sleep 0.1; exit 0' TERM; echo on; while :; do sleep 0.01; done", 30, 0},
		"one that does not heed":  {"trap '' TERM; echo on; while :; do sleep 0.01; done", 1, 137},
		"one without any handler": {"echo on; exec sleep 1000", 30, 143},
		"one that hangs":          {"trap 'exit 143' TERM; echo on; while :; do sleep 0.01; done", 1, 137},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil)
			m.create(one(c.script))
			m.prints("on")
			if name == "one that hangs" {
				process, _ := m.Process(m.pod("p").UID, "main")
				process.Freeze()
			}
			m.delete(c.grace)
			if end := mainOf(m.gone()).State.Terminated; end == nil || end.ExitCode != c.code {
				t.Errorf("the end is %+v, want exit code %d", end, c.code)
			}
		})
	}
}

func TestNothingOfAContainerOutlivesIt(t *testing.T) {
	m := newMachine(t, nil)
	folder := t.TempDir()
	spec := one("sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; until test -e $KUBELET_TEST/end; do sleep 0.01; done; exit 1")
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "KUBELET_TEST", Value: folder}}
	m.create(spec)
	mark := "KUBELET_TEST=" + folder
	m.until("all its processes run", func() bool { return processes(t, mark) >= 6 })
	if err := os.WriteFile(filepath.Join(folder, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.ends()
	m.until("no process is left", func() bool { return processes(t, mark) == 0 })
}

func TestAnotherImageRestartsTheContainerInItsPod(t *testing.T) {
	m := newMachine(t, nil)
	spec := one("echo attempt $ATTEMPT; touch $DIR/$ATTEMPT; ls $DIR; exec sleep 1000")
	spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "DIR", Value: "/scratch"},
		{Name: "ATTEMPT", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['attempt']"}}},
	}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	m.create(spec)
	m.prints("attempt")
	m.until("the pod runs", func() bool { return m.pod("p").Status.Phase == corev1.PodRunning })
	was := mainOf(m.pod("p"))
	is := m.pod("p").DeepCopy()
	is.Labels["attempt"], is.Spec.Containers[0].Image = "7", "registry.example.com/train:life-1-0"
	m.do(&server.Request{Verb: server.Update, Object: is})
	m.prints("attempt 7")
	m.until("the status shows it", func() bool { return mainOf(m.pod("p")).RestartCount == 1 })
	now := mainOf(m.pod("p"))
	end := now.LastTerminationState.Terminated
	if now.ContainerID == was.ContainerID || now.ImageID != was.ImageID || end == nil || end.ContainerID != was.ContainerID || end.ExitCode != 143 {
		t.Errorf("was %+v, is %+v", was, now)
	}
	if m.pod("p").Status.Phase != corev1.PodRunning {
		t.Errorf("the pod is %s", m.pod("p").Status.Phase)
	}
}

func TestRestartPolicies(t *testing.T) {
	m := newMachine(t, nil)
	spec := one("echo again; test -e $DIR/stop && exec sleep 1000; touch $DIR/stop; exit 42")
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "DIR", Value: "/d"}}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "d", MountPath: "/d"}}
	spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
	m.create(spec)
	m.until("the container starts again", func() bool {
		return m.pod("p").Status.Phase == corev1.PodRunning && mainOf(m.pod("p")).RestartCount == 1 && strings.Count(m.printed(), "again") == 2
	})
}

func TestTheEnvironmentOfAContainer(t *testing.T) {
	t.Setenv("KUBELET_TEST_INHERITED", "yes")
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	m := newMachine(t, func(o *Options) {
		o.ConfigMaps = map[string]map[string]string{"c": {"rate": "0.1"}}
		o.Devices = []string{"4", "5", "6"}
		o.Paths = Paths{{"/app", "/srv/app"}}
		o.Translate = func(_ *corev1.Pod, _, text string) string {
			return strings.ReplaceAll(text, "j-worker-0.j", "127.77.1.1")
		}
	})
	spec := one("")
	c := &spec.Containers[0]
	spec.Hostname = "host"
	c.Env = []corev1.EnvVar{
		{Name: "NAME", ValueFrom: field("metadata.name")}, {Name: "NODE", ValueFrom: field("spec.nodeName")}, {Name: "IP", ValueFrom: field("status.podIP")},
		{Name: "LABEL", ValueFrom: field("metadata.labels['a']")},
		{Name: "URL", Value: "tcp://j-worker-0.j:1"}, {Name: "BOTH", Value: "$(NAME)-$(NODE)-$$(NAME)-$(NONE)"},
		{Name: "RATE", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "rate"}}},
		{Name: "CPUS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
		{Name: "PROGRAM", Value: "/app/train.py"},
	}
	c.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}
	c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("1500m"), ResourceGPU: resource.MustParse("2")}
	c.Command = []string{"sh", "-c", `echo "$NAME $NODE $IP $LABEL $URL $BOTH $RATE $P_rate $CPUS $PROGRAM $HOSTNAME $CUDA_VISIBLE_DEVICES $KUBELET_TEST_INHERITED $0 $1"`}
	c.Args = []string{"$(RATE)", "--at=j-worker-0.j"}
	m.create(spec)
	m.ends()
	want := "p node-1 127.77.1.1 b tcp://127.77.1.1:1 p-node-1-$(NAME)-$(NONE) 0.1 0.1 2 /srv/app/train.py host 4,5 yes 0.1 --at=127.77.1.1\n"
	if m.printed() != want {
		t.Errorf("printed\n%swant\n%s", m.printed(), want)
	}
}

func TestVolumes(t *testing.T) {
	own := t.TempDir()
	m := newMachine(t, func(o *Options) {
		o.ConfigMaps = map[string]map[string]string{"c": {"train.sh": "echo trains > $1/out", "other": "x"}}
		o.Claims = map[string]string{"kept": own}
	})
	spec := one("")
	c := &spec.Containers[0]
	c.Command = []string{"sh", "/app/run/train.sh", "/kept"}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "program", MountPath: "/app"}, {Name: "kept", MountPath: "/kept", SubPath: "sub"}}
	spec.Volumes = []corev1.Volume{
		{Name: "program", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Items: []corev1.KeyToPath{{Key: "train.sh", Path: "run/train.sh"}}}}},
		{Name: "kept", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "kept"}}},
	}
	m.create(spec)
	if pod := m.ends(); pod.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("the pod is %s, printed %s", pod.Status.Phase, m.printed())
	}
	if text, err := os.ReadFile(filepath.Join(own, "sub/out")); err != nil || string(text) != "trains\n" {
		t.Errorf("the claim holds %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(m.Folder, "pods/p")); err == nil {
		t.Error("the files of a pod that has ended are still there")
	}
}

func TestANodeThatIsOffWritesNothing(t *testing.T) {
	m := newMachine(t, nil)
	m.create(one("echo on; exec sleep 1000"))
	m.prints("on")
	m.until("the pod runs", func() bool { return m.pod("p").Status.Phase == corev1.PodRunning })
	before := m.pod("p").ResourceVersion
	m.TurnOff("node-1")
	m.until("its process ends", func() bool { return m.Running() == 0 })
	if after := m.pod("p"); after.ResourceVersion != before {
		t.Errorf("the status was written: %+v", after.Status)
	}
}

func TestAPodWaitsForGPUsThatAnotherHolds(t *testing.T) {
	m := newMachine(t, func(o *Options) { o.Devices = []string{"0"} })
	spec := one("echo $CUDA_VISIBLE_DEVICES; exec sleep 1000")
	spec.Containers[0].Resources.Limits = corev1.ResourceList{ResourceGPU: resource.MustParse("1")}
	m.create(spec)
	m.prints("0")
	second := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}, Spec: *spec.DeepCopy()}
	second.Spec.NodeName, second.Spec.Containers[0].Command = "node-1", []string{"sh", "-c", "echo second has $CUDA_VISIBLE_DEVICES"}
	if _, err := m.Server.Do(&server.Request{User: "test", Verb: server.Create, Kind: server.Pods, Key: keyOf(second), Object: second}); err != nil {
		t.Fatal(err)
	}
	m.until("the kubelet has seen it", func() bool { return len(m.dirty) == 0 })
	if m.Running() != 1 {
		t.Fatalf("%d processes run, want 1", m.Running())
	}
	m.delete(0)
	m.prints("second has 0")
}

func TestPathsAreReplacedWhereTheyStandAlone(t *testing.T) {
	paths := Paths{{"/data", "/D"}, {"/data/in", "/I"}, {"/checkpoints", "/tmp/c/checkpoints"}}
	paths.Sort()
	for text, want := range map[string]string{
		"/data": "/D", "/data/x": "/D/x", "--out=/data/x": "--out=/D/x", "/data/in/y": "/I/y", "/data2": "/data2", "/my/data": "/my/data", "./data": "./data",
		"cp /data/a '/data/in'; ls": "cp /D/a '/I'; ls", "/data:/checkpoints": "/D:/tmp/c/checkpoints", "x/data": "x/data", "": "",
		"/tmp/c/checkpoints": "/tmp/c/checkpoints",
	} {
		if got := paths.Replace(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
