//go:build chaos

package chaos

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/trainingjob/operator/test/api/testbed"
)

// operators is the group that all operators of this suite are in for the API server. An administrator would be exempt from
// its limits; these have the rights of manifests/base and its components, and each process has a user name of its own in the audit log.
const operators = "chaos:operators"

// operator is one process of the operator.
type operator struct {
	*testbed.Operator
	user, log string
	// thawed is when the process, which had been stopped, went on; zero if it never was.
	thawed time.Time
}

var processes atomic.Int32

// grantOperators gives the suite's operators the rights that an installation gives them, those in its own namespace in all.
func grantOperators() {
	GinkgoHelper()
	for _, file := range []string{"base/operator-role.yaml", "base/leader-election-role.yaml", "components/ttl/role.yaml", "components/mpi/role.yaml",
		"components/native-gang/role.yaml", "components/volcano/role.yaml", "components/coscheduling/role.yaml"} {
		text, err := os.ReadFile("../../../manifests/" + file)
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
	Expect(client.IgnoreAlreadyExists(kube.Create(context.Background(), role))).To(Succeed())
	Expect(client.IgnoreAlreadyExists(kube.Create(context.Background(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: operators}},
	}))).To(Succeed())
}

// startOperator starts an operator for the namespace. Its health and metrics are served only if the arguments say where.
func startOperator(namespace string, args ...string) *operator {
	GinkgoHelper()
	user := fmt.Sprintf("operator-%d", processes.Add(1))
	kubeconfig := lab.File("kubeconfig-" + user)
	Expect(testbed.WriteKubeconfigAs(kubeconfig, lab.Kubeconfig(), user, operators, "system:authenticated")).To(Succeed())
	o := &operator{user: user, log: lab.File(user + ".log")}
	log, err := os.Create(o.log)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	o.Operator, err = testbed.StartOperator(*operatorBinary, kubeconfig, namespace, log, args...)
	Expect(err).NotTo(HaveOccurred())
	return o
}

// thaw lets a process that was stopped go on: for itself no time has passed.
func (o *operator) thaw() {
	GinkgoHelper()
	o.thawed = time.Now()
	Expect(o.Signal(syscall.SIGCONT)).To(Succeed())
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
				m.now.Kill()
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
	m.now.Kill()
	for _, o := range m.lives {
		Expect(o.panics()).To(BeEmpty(), "%s panicked", o.user)
	}
}
