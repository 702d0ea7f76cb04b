package cluster

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/plan"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

var secrets = schema.GroupResource{Resource: "secrets"}

// launched returns an MPI job and the steps that create its key and its pods.
func launched() (*v1alpha1.TrainingJob, []plan.Step) {
	job := builder.Job("j", builder.Framework(v1alpha1.MPI), builder.Leader(v1alpha1.Launcher), builder.Workers(1))
	return job, []plan.Step{
		plan.CreateSSHKey{Name: state.SSHSecretName(job)},
		plan.CreatePod{Name: "j-launcher-0", Slot: state.Slot{Role: v1alpha1.Launcher}, Placement: &plan.Placement{}},
	}
}

// act takes the steps against a server that answers the creation of Secrets with err. It returns the cluster, the Secrets and how
// many pods were created. Its client cannot read.
func act(t *testing.T, err error) (c *Cluster, job *v1alpha1.TrainingJob, made []*corev1.Secret, pods int) {
	t.Helper()
	w := &webhooks{answer: func(_ context.Context, o client.Object) error {
		secret, isSecret := o.(*corev1.Secret)
		if !isSecret {
			pods++
			return nil
		}
		made = append(made, secret)
		return err
	}}
	job, steps := launched()
	c = w.cluster()
	if err := c.Act(t.Context(), job, steps); err != nil {
		t.Fatal(err)
	}
	return c, job, made, pods
}

func TestTheKeyOfAnMPIJobIsTheJobsOwn(t *testing.T) {
	_, job, made, pods := act(t, nil)
	if len(made) != 1 || pods != 1 {
		t.Fatalf("%d Secrets and %d pods were created", len(made), pods)
	}
	secret := made[0]
	if secret.Name != "j-uid-j-ssh" || secret.Namespace != job.Namespace || !state.IsOwnedBy(secret, job) || !ptr.Deref(secret.Immutable, false) {
		t.Errorf("the Secret is %v", secret.ObjectMeta)
	}
	_, _, again, _ := act(t, nil)
	if bytes.Equal(secret.Data[corev1.SSHAuthPrivateKey], again[0].Data[corev1.SSHAuthPrivateKey]) {
		t.Error("two jobs have the same key")
	}
}

func TestAKeyThatIsThereAlreadyIsAsGood(t *testing.T) {
	c, job, _, pods := act(t, apierrors.NewAlreadyExists(secrets, "j-uid-j-ssh"))
	if refusal := c.memo(job, nil).refused.refusal; pods != 1 || refusal != nil {
		t.Errorf("%d pods were created, refused: %v", pods, refusal)
	}
}

func TestAMissingRightToSecretsNamesWhatToApply(t *testing.T) {
	forbidden := apierrors.NewForbidden(secrets, "", errors.New(`User "operator" cannot create resource "secrets"`))
	c, job, _, pods := act(t, forbidden)
	refusal := c.memo(job, nil).refused.refusal
	if pods != 0 || refusal == nil || refusal.Reason != v1alpha1.ReasonForbidden {
		t.Fatalf("%d pods were created, refused: %v", pods, refusal)
	}
	for _, part := range []string{"apply manifests/components/mpi", "mpi.launchAgent: None", `cannot create resource "secrets"`} {
		if !strings.Contains(refusal.Message, part) {
			t.Errorf("%q lacks %q", refusal.Message, part)
		}
	}
	if _, err := os.Stat("../../../manifests/components/mpi/kustomization.yaml"); err != nil {
		t.Errorf("what is to be applied: %v", err)
	}
}

func TestAQuotaOfSecretsIsAQuota(t *testing.T) {
	c, job, _, _ := act(t, apierrors.NewForbidden(secrets, "j", errors.New("exceeded quota: team-a, requested: count/secrets=1")))
	refusal := c.memo(job, nil).refused.refusal
	if refusal == nil || refusal.Reason != v1alpha1.ReasonQuotaExceeded || strings.Contains(refusal.Message, "manifests/") {
		t.Errorf("refused: %v", refusal)
	}
}

// A launcher with the job's files reaches a host with the job's files, and accepts its key.
func TestTheLauncherReachesAWorkerWithTheKey(t *testing.T) {
	own, other := keyOf(t, "j"), keyOf(t, "j")
	if err := greet(t, own, own); err != nil {
		t.Errorf("a worker of the same job: %v", err)
	}
	if err := greet(t, own, other); err == nil || !strings.Contains(err.Error(), "key is unknown") && !strings.Contains(err.Error(), "mismatch") {
		t.Errorf("a worker of another job is taken for one's own: %v", err)
	}
}

// keyOf returns the files of a new job.
func keyOf(t *testing.T, name string) map[string][]byte {
	t.Helper()
	key, err := newSSHKey()
	if err != nil {
		t.Fatal(err)
	}
	return build.SSHSecret(builder.Job(name), key).Data
}

// greet lets a client with some files log in at a server with others, by the configurations.
func greet(t *testing.T, client, server map[string][]byte) error {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		theirs, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = theirs.Close() }()
		host := signer(t, server["ssh-privatekey"])
		config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
			authorized, _, _, _, err := ssh.ParseAuthorizedKey(server["authorized_keys"])
			if err == nil && bytes.Equal(authorized.Marshal(), offered.Marshal()) {
				return nil, nil
			}
			return nil, errors.New("not authorized")
		}}
		config.AddHostKey(host)
		_, _, _, _ = ssh.NewServerConn(theirs, config)
	}()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, client["known_hosts"], 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := knownhosts.New(file)
	if err != nil {
		t.Fatal(err)
	}
	// as if the worker had its name; in a line without a port the package accepts only port 22, OpenSSH any port
	worker := func(_ string, _ net.Addr, key ssh.PublicKey) error {
		return known("j-worker-0.j:22", &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 22}, key)
	}
	logged, err := ssh.Dial("tcp", listener.Addr().String(), &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer(t, client["ssh-privatekey"]))}, HostKeyCallback: worker})
	if err == nil {
		_ = logged.Close()
	}
	return err
}

func signer(t *testing.T, private []byte) ssh.Signer {
	t.Helper()
	s, err := ssh.ParsePrivateKey(private)
	if err != nil {
		t.Error(err)
	}
	return s
}
