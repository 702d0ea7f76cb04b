//go:build linux

package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const localHead = "apiVersion: trainingjob.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: j}\nspec:\n  framework: PyTorch\n  runPolicy: {finishGraceSeconds: 1}\n" +
	"  replicaSpecs:\n    Worker:\n      replicas: 2\n      template:\n        spec:\n"

// podSpec is a file with one job whose template has that spec in YAML flow style.
func podSpec(container, more string) string {
	return localHead + "          containers: [{name: main, image: train:1, " + container + "}]\n          " + more + "\n"
}

// runs runs kubectl tj run with the file's text, and returns its exit status and its words.
func runs(t *testing.T, text string, flags ...string) (status int, words string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStage(interceptor.Funcs{})
	done := make(chan struct{})
	go func() { // a run keeps its thread
		defer close(done)
		status = s.run(t.Context(), append([]string{"run", file, "--folder", t.TempDir()}, flags...))
	}()
	<-done
	return status, s.out.String() + s.err.String()
}

func TestRun(t *testing.T) {
	page := filepath.Join(t.TempDir(), "job.html")
	job := podSpec(`command: [sh, -c, "echo rank $RANK of $SIZE; test $TRAININGJOB_ATTEMPT = 1 && exit 0; exec sleep 1000"], env: [{name: SIZE, value: "1"}]`, "")
	status, words := runs(t, job, "--exit", "worker-1=3@0s", "--env", "SIZE=2", "--report", page)
	if status != 0 {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{
		"worker-1 exits with code 3", "Restarting: worker-1 on node-2 exited with code 3 (Error): the whole job restarts as attempt 1, 1 more follows, restart 1 of 10.",
		"worker-0    | rank 0 of 2", "Succeeded: LeaderSucceeded", "j has succeeded", "attempt 1",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("it does not show %q:\n%s", want, words)
		}
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "worker-1") {
		t.Errorf("the report: %v", err)
	}
}

func TestRunReturnsTheExitStatusOfTheJob(t *testing.T) {
	if status, words := runs(t, podSpec("command: [sh, -c, exit 93]", "")); status != 93 {
		t.Errorf("status %d, want 93:\n%s", status, words)
	}
}

func TestRunNotesWhatACommandLineNamesAndDoesNotExist(t *testing.T) {
	_, words := runs(t, podSpec(`command: [sh, -c, "ls /no-such/data; ls /tmp; echo s3://a/no; exit 93"]`, ""))
	if !strings.Contains(words, "names /no-such, which is not here: write --path /no-such=FOLDER") || strings.Count(words, "is not here") != 1 {
		t.Errorf("it shows:\n%s", words)
	}
}

func TestRunRefusesBeforeAnythingStarts(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port
	sleeps := "command: [sleep, '1']"
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,1")
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("python3 is needed, as for make try")
	}
	for _, c := range []struct {
		name, text string
		flags      []string
		want       string
	}{
		{"a program that does not exist", podSpec("command: [no-such-trainer]", ""), nil, "there is no program no-such-trainer on this machine: install it"},
		{"a file that is not executable", podSpec("command: [./local_test.go]", ""), nil, "./local_test.go is not executable: chmod +x ./local_test.go, or write its interpreter before it"},
		{"another Python", podSpec("command: [python9.9, train.py]", ""), nil, "there is no python9.9 on this machine: install Python 3"},
		{"a script of the image", podSpec("command: [sh, /app/train.sh]", ""), nil, "there is no /app/train.sh: a local run uses the files of this machine; write --path /app=FOLDER"},
		{"no command", podSpec("args: [x]", ""), nil, "write --image-command with what the image train:1 starts"},
		{"a privileged container", podSpec(sleeps+", securityContext: {privileged: true}", ""), nil, "privileged: true needs a node of a cluster: remove it"},
		{"a hostPath", podSpec(sleeps+", volumeMounts: [{name: v, mountPath: /data}]", "volumes: [{name: v, hostPath: {path: /mnt}}]"), nil, "use an emptyDir, or write --path /data=/mnt"},
		{"a Secret", podSpec(sleeps+", env: [{name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]", ""), nil, "there is no Secret s here: write --env KEY=VALUE"},
		{"a ConfigMap that the file lacks", podSpec(sleeps+", volumeMounts: [{name: v, mountPath: /app}]", "volumes: [{name: v, configMap: {name: c}}]"), nil, "add it as a document, or write --path /app=FOLDER"},
		{"a folder that does not exist", podSpec(sleeps+", workingDir: /no/such", ""), nil, "there is no folder /no/such (workingDir)"},
		{"several jobs", podSpec(sleeps, "") + "---\n" + podSpec(sleeps, ""), nil, "has several jobs, and a local run takes one: split the file"},
		{"no job", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", nil, "has no TrainingJob, but v1 ConfigMap: write a TrainingJob"},
		{"an empty file", "", nil, "has no TrainingJob in it"},
		{"a program instead of a manifest", "import torch", nil, "this is no manifest: write a TrainingJob in YAML"},
		{"a job of Kubeflow", "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\n", nil, "job.yaml | kubectl tj run -"},
		{"a module that does not exist", podSpec("command: [python3, -m, no_such_module.train]", ""), nil, "python3 has no module no_such_module: activate the virtual environment that has it"},
		{"a program of a virtual environment", podSpec("command: [no-such-torchrun, train.py]", ""), nil, "install it, or activate the virtual environment that has it"},
		{"a script that is elsewhere", podSpec("command: [sh, no-such.sh]", ""), nil, "there is no no-such.sh in this folder: run from the folder that has it"},
		{"a whole command line as one word", podSpec("command: [python3 train.py]", ""), nil, "write each word by itself, as [python3, train.py]"},
		{"an MPI job", strings.Replace(strings.Replace(podSpec(sleeps, ""), "PyTorch", "MPI", 1), "    Worker:", "    Launcher: {template: {spec: {containers: [{name: m, image: i}]}}}\n    Worker:", 1), nil, "run mpirun with slots"},
		{"a suspended job", strings.Replace(podSpec(sleeps, ""), "spec:\n", "spec:\n  suspend: true\n", 1), nil, "remove spec.suspend"},
		{"an unknown replica", podSpec(sleeps, ""), []string{"--kill", "worker-7@1s"}, "the job has no replica worker-7"},
		{"an unknown node", podSpec(sleeps, ""), []string{"--lose-node", "node-9@1s"}, "there is no node node-9: write one of node-1 to node-2"},
		{"the only node is lost", podSpec(sleeps, ""), []string{"--nodes", "1", "--lose-node", "node-1@1s"}, "--lose-node for 1 of 1 nodes: the operator believes no loss of most nodes: write --nodes 2 or more"},
		{"a fault without a time", podSpec(sleeps, ""), []string{"--kill", "worker-1"}, "write worker-1@20s"},
		{"an exit without a code", podSpec(sleeps, ""), []string{"--exit", "worker-1@2s"}, "write worker-1=3@20s"},
		{"a relative path of the container", podSpec(sleeps, ""), []string{"--path", "app=."}, "such as /app=./src"},
		{"a claim that leaves the folder", podSpec(sleeps, "volumes: [{name: v, persistentVolumeClaim: {claimName: ../../evil}}]"), nil, `"../../evil" is no name of a container, volume or claim`},
		{"a volume that leaves the folder", podSpec(sleeps, "volumes: [{name: ../v, emptyDir: {}}]"), nil, `"../v" is no name`},
		{"a container that leaves the folder", strings.Replace(podSpec(sleeps, ""), "name: main", "name: ../main", 1), nil, `"../main" is no name`},
		{"a job that leaves the folder", strings.Replace(podSpec(sleeps, ""), "name: j}", "name: ../j}", 1), nil, "metadata.name becomes the name of a Service"},
		{"a role that leaves the folder", strings.Replace(strings.Replace(podSpec(sleeps, ""), "Worker:", "../w:", 1), "PyTorch", "Custom", 1), nil, "unknown role"},
		{"flags of a command", podSpec(sleeps, ""), []string{"--workers", "2"}, "--workers is for a command after --"},
		{"more GPUs than there are", podSpec(sleeps+", resources: {limits: {nvidia.com/gpu: 2}}", ""), nil, "the replicas request 4 GPUs together, and this machine has 2"},
		{"a port in use", podSpec(sleeps+fmt.Sprintf(", ports: [{name: pytorchjob-port, containerPort: %d}]", port), ""), nil, fmt.Sprintf("another program listens at port %d, which the job needs: end it", port)},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, words := runs(t, c.text, c.flags...)
			if status != 1 || !strings.Contains(words, c.want) || strings.Contains(words, "Logs:") {
				t.Errorf("status %d, %q; want %q, and no run", status, words, c.want)
			}
		})
	}
}

// runsCommand runs kubectl tj run with these arguments, and returns its exit status and its words.
func runsCommand(t *testing.T, args ...string) (status int, words string) {
	t.Helper()
	s := newStage(interceptor.Funcs{})
	done := make(chan struct{})
	go func() { // a run keeps its thread
		defer close(done)
		status = s.run(t.Context(), append([]string{"run", "--folder", t.TempDir()}, args...))
	}()
	<-done
	return status, s.out.String() + s.err.String()
}

// A command runs as torchrun would run it, also while another program has torchrun's port.
func TestRunOfACommand(t *testing.T) {
	if busy, err := net.Listen("tcp", "127.0.0.1:29500"); err == nil {
		defer busy.Close()
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,7")
	status, words := runsCommand(t, "--workers", "2", "--", "sh", "-c", `echo "$RANK/$WORLD_SIZE local $LOCAL_RANK threads $OMP_NUM_THREADS port $MASTER_PORT gpu $CUDA_VISIBLE_DEVICES"`)
	for _, want := range []string{"worker-0    | 0/2 local 0 threads 1 port 29", "worker-1    | 1/2 local 0 threads 1 port 29", "gpu 4\n", "gpu 7\n", "No volume outlives a pod"} {
		if status != 0 || !strings.Contains(words, want) {
			t.Errorf("status %d, no %q:\n%s", status, want, words)
		}
	}
	if strings.Contains(words, "port 29500 gpu") || !strings.Contains(words, "Another program has port 29500 of PyTorch: this run uses port 29") {
		t.Errorf("it uses a port that another program has:\n%s", words)
	}
}

func TestRunWithoutAFileOrCommand(t *testing.T) {
	for want, args := range map[string][]string{
		"write kubectl tj run job.yaml, or kubectl tj run --workers 2 -- python3 train.py":            nil,
		"write kubectl tj run --workers 2 -- python3 train.py.":                                       {"python3", "train.py"},
		"train.py is a program, not a manifest: write kubectl tj run --workers 2 -- python3 train.py": {"train.py"},
		"--workers 0: write a number from 1":                                                          {"--workers", "0", "--", "true"},
		"write PyTorch":                                                                               {"--framework", "Pytorch", "--", "true"},
		"there is no no-such.py in this folder: run from the folder that has it":                      {"--", "python3", "no-such.py"},
	} {
		if status, words := runsCommand(t, args...); status != 1 || !strings.Contains(words, want) {
			t.Errorf("%v: status %d, %q, want %q", args, status, words, want)
		}
	}
}

// A hang that nothing notices is announced.
func TestRunNotesAHangThatNothingNotices(t *testing.T) {
	for progress, want := range map[string]string{
		"":                                "--stop: nothing will notice the hang, because the job reports no progress",
		"  progress: {port: 9500}\n":      "the operator will note the hang and restart nothing",
		"  progress: {action: Restart}\n": "",
	} {
		job := strings.Replace(podSpec("command: [sh, -c, exit 93]", ""), "spec:\n", "spec:\n"+progress, 1)
		if _, words := runs(t, job, "--stop", "worker-1@1h"); !strings.Contains(words, want) || strings.Contains(words, "--stop:") != (want != "") {
			t.Errorf("%q: %s", progress, words)
		}
	}
}

// Lines of a traceback keep their steps.
func TestRunKeepsIndentation(t *testing.T) {
	_, words := runs(t, podSpec(`command: [sh, -c, "printf 'Traceback:\\n  File x\\n\\tline\\n'; exit 93"]`, ""))
	for _, want := range []string{" | Traceback:\n", " |   File x\n", " |     line\n"} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q:\n%s", want, words)
		}
	}
}

// A file without a TrainingJob has no plan, which a check must see.
func TestPlanOfNoJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStage(interceptor.Funcs{})
	if status := s.run(t.Context(), []string{"plan", "-f", file}); status != 1 || !strings.Contains(s.err.String(), "there is no TrainingJob to plan") {
		t.Errorf("status %d: %s", status, s.err)
	}
}
