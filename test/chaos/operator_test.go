//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// operators is the group that all operators of this suite are in for the API server. An administrator would be exempt from
// its limits; these have the rights of manifests/base, and each process has a user name of its own in the audit log.
const operators = "chaos:operators"

// operator is one process of the operator.
type operator struct {
	user, log string
	process   *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
	// thawed is when the process, which had been stopped, went on; zero if it never was.
	thawed time.Time
}

var processes atomic.Int32

// grantOperators gives the suite's operators the rights that an installation gives them, those in its own namespace in all.
func grantOperators() {
	GinkgoHelper()
	for _, file := range []string{"operator-role.yaml", "leader-election-role.yaml"} {
		text, err := os.ReadFile("../../manifests/base/" + file)
		Expect(err).NotTo(HaveOccurred())
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			role := &rbacv1.ClusterRole{}
			if Expect(yaml.Unmarshal([]byte(document), role)).To(Succeed()); role.Kind == "ClusterRole" || role.Kind == "Role" {
				role.Kind = "ClusterRole"
				grant(role)
			}
		}
	}
}

// grant creates the role and binds the operators to it.
func grant(role *rbacv1.ClusterRole) {
	GinkgoHelper()
	Expect(role.Rules).NotTo(BeEmpty(), "%s grants nothing", role.Name)
	Expect(kube.Create(context.Background(), role)).To(Succeed())
	Expect(kube.Create(context.Background(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: operators}},
	})).To(Succeed())
}

// kubeconfigOf writes a kubeconfig with which the API server takes its user for another one.
func (l *laboratory) kubeconfigOf(user string) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(l.kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	for _, info := range config.AuthInfos {
		info.Impersonate, info.ImpersonateGroups = user, []string{operators, "system:authenticated"}
	}
	path := l.file("kubeconfig-" + user)
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// startOperator starts an operator for the namespace. Its health and metrics are served only if the arguments say where.
func startOperator(namespace string, args ...string) *operator {
	GinkgoHelper()
	user := fmt.Sprintf("operator-%d", processes.Add(1))
	o := &operator{user: user, log: lab.file(user + ".log"), ended: make(chan struct{})}
	log, err := os.Create(o.log)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	path, err := filepath.Abs(*operatorBinary)
	Expect(err).NotTo(HaveOccurred())
	o.process = exec.Command(path, append([]string{"--kubeconfig", lab.kubeconfigOf(user), "--namespace", namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)...)
	o.process.Stdout, o.process.Stderr = log, log
	Expect(o.process.Start()).To(Succeed())
	go func() {
		_ = o.process.Wait() // how it ended is in its log
		close(o.ended)
	}()
	return o
}

// kill ends the process at once, and returns when it has ended.
func (o *operator) kill() {
	_ = o.process.Process.Kill() // it may have ended before
	<-o.ended
}

func (o *operator) hasEnded() bool {
	select {
	case <-o.ended:
		return true
	default:
		return false
	}
}

// thaw lets a process that was stopped go on: for itself no time has passed.
func (o *operator) thaw() {
	GinkgoHelper()
	o.thawed = time.Now()
	Expect(o.process.Process.Signal(syscall.SIGCONT)).To(Succeed())
}

// works reports whether the operator has filled its caches and begun to work.
func (o *operator) works() bool {
	text, err := os.ReadFile(o.log)
	return err == nil && strings.Contains(string(text), "Starting workers")
}

// panics returns what the operator wrote from its first panic or data race on; empty if there was none.
func (o *operator) panics() string {
	text, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	for _, word := range []string{"panic", "fatal error:"} {
		if at := strings.Index(string(text), word); at >= 0 {
			return string(text[at:min(at+2000, len(text))])
		}
	}
	return ""
}

// mortal is an operator that is killed again and again and started anew each time.
type mortal struct {
	mu    sync.Mutex
	now   *operator
	lives []*operator
	stop  chan struct{}
	done  sync.WaitGroup
}

// startMortal starts an operator that lives so long each time.
func startMortal(namespace string, lifetime time.Duration, args ...string) *mortal {
	GinkgoHelper()
	m := &mortal{stop: make(chan struct{})}
	m.begin(namespace, args)
	m.done.Go(func() {
		defer GinkgoRecover()
		for tick := time.Tick(lifetime); ; {
			select {
			case <-m.stop:
				return
			case <-tick:
				m.now.kill()
				m.begin(namespace, args)
			}
		}
	})
	DeferCleanup(m.end)
	return m
}

func (m *mortal) begin(namespace string, args []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = startOperator(namespace, args...)
	m.lives = append(m.lives, m.now)
}

// spare ends the killing, and leaves the last operator alive until the spec ends. It returns how many were killed.
func (m *mortal) spare() int {
	select {
	case <-m.stop:
	default:
		close(m.stop)
	}
	m.done.Wait()
	return len(m.lives) - 1
}

func (m *mortal) end() {
	m.spare()
	m.now.kill()
	for _, o := range m.lives {
		Expect(o.panics()).To(BeEmpty(), "%s panicked", o.user)
	}
}
