//go:build e2e

package api_test

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/api/testbed"
)

// thief holds a token of the operator's account, which RBAC lets do everything: what it cannot do the policies of confine refuse.
type thief struct {
	client.Client
	// home is the operator's own namespace, tenant one with jobs.
	home, tenant string
	// running, finished and expiring are jobs of the tenant. Only the last two have finished, and only the last has a time to live.
	running, finished, expiring *v1alpha1.TrainingJob
}

// steal installs the policies and returns a thief once they hold.
func steal(t *testing.T) *thief {
	t.Helper()
	s := &thief{home: namespace(t, nil), tenant: namespace(t, nil)}
	install(t, confine, s.home, nil)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.home, Name: operatorName}}
	create(t, account)
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.home},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: operatorName, Namespace: s.home}},
	})
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	own := rest.AnonymousClientConfig(config)
	own.BearerToken = token.Status.Token
	c, err := client.New(own, client.Options{Scheme: testbed.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	s.Client = c
	s.running = s.job(t, "mine", `{}`)
	s.finished = s.job(t, "over", `{}`)
	s.expiring = s.job(t, "late", `spec: {runPolicy: {ttlSecondsAfterFinished: 60}}`)
	for _, job := range []*v1alpha1.TrainingJob{s.finished, s.expiring} {
		job.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}}
		if err := admin.Status().Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the account may do what the policies allow", func() error { return c.List(t.Context(), &corev1.PodList{}, client.InNamespace(s.tenant)) }, "")
	known := s.pod("mine-known", s.running)
	create(t, known)
	for _, refused := range []attempt{ // the API server learns of one policy after the other
		s.creates(t, "children", s.pod("bare", nil), notOfAJob),
		s.creates(t, "namespaces", in("kube-system", s.pod("mine-known", s.running)), "writes nothing in namespace"),
		s.patches(t, "pods", known, `{"metadata": {"labels": {"app": "x"}}}`, "only labels of its own"),
	} {
		eventually(t, "the policy of "+refused.name+" holds", refused.do, refused.want)
	}
	return s
}

func (s *thief) job(t *testing.T, name, change string) *v1alpha1.TrainingJob {
	t.Helper()
	j := typed(t, job(t, s.tenant, change))
	j.Name = name
	create(t, j)
	return j
}

// meta returns the metadata of an object of that name that the job controls; of a nil job, of one that no job controls.
func (s *thief) meta(name string, job *v1alpha1.TrainingJob) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: s.tenant, Name: name}
	if job != nil {
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	}
	return m
}

func (s *thief) pod(name string, job *v1alpha1.TrainingJob) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: s.meta(name, job), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox:1.37"}}}}
}

func (s *thief) service(change func(*corev1.Service)) *corev1.Service {
	service := &corev1.Service{ObjectMeta: s.meta("mine", s.running), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"a": "b"}}}
	change(service)
	return service
}

func (s *thief) secret(name string, kind corev1.SecretType, job *v1alpha1.TrainingJob) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: s.meta(name, job), Type: kind, Data: map[string][]byte{corev1.SSHAuthPrivateKey: []byte("key")}}
}

func eviction(pod *corev1.Pod) *policyv1.Eviction {
	return &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}

// in moves the object to another namespace.
func in[T client.Object](namespace string, object T) T {
	object.SetNamespace(namespace)
	return object
}

// attempt is a request of the thief, and the sentence with which it is refused; empty for one that the operator itself makes.
type attempt struct {
	name string
	do   func() error
	want string
}

func (s *thief) try(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) { expectRefusal(t, a.do(), a.want) })
	}
}

func (s *thief) creates(t *testing.T, name string, object client.Object, want string) attempt {
	return attempt{name, func() error { return s.Create(t.Context(), object, client.DryRunAll) }, want}
}

func (s *thief) deletes(t *testing.T, name string, object client.Object, want string) attempt {
	return attempt{name, func() error { return s.Delete(t.Context(), object, client.DryRunAll) }, want}
}

// patches returns an attempt to patch the object as the operator does.
func (s *thief) patches(t *testing.T, name string, object client.Object, patch, want string) attempt {
	return attempt{name, func() error {
		copied, _ := object.DeepCopyObject().(client.Object)
		return s.Patch(t.Context(), copied, client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.DryRunAll)
	}, want}
}

// merges returns an attempt to patch an object of a custom resource.
func (s *thief) merges(t *testing.T, name string, object client.Object, patch, want string) attempt {
	return attempt{name, func() error {
		copied, _ := object.DeepCopyObject().(client.Object)
		return s.Patch(t.Context(), copied, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}, want}
}

const notOfAJob = "that a TrainingJob controls"

func TestAStolenTokenReachesNoPodButThoseOfJobs(t *testing.T) {
	s := steal(t)
	foreign := s.pod("foreign", nil)
	create(t, foreign)
	owner := &corev1.ConfigMap{ObjectMeta: s.meta("owner", nil)} // the garbage collector leaves what it owns
	create(t, owner)
	controlled := s.pod("owner-0", nil)
	controlled.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	create(t, controlled)
	uncontrolled := s.pod("mine-uncontrolled", s.running)
	uncontrolled.OwnerReferences[0].Controller = nil
	left, unlabelled := s.pod("mine-left", s.running), s.pod("mine-unlabelled", s.running)
	left.Labels = map[string]string{v1alpha1.KubeflowLabelOperatorName: "pytorchjob-controller"}
	for _, pod := range []*corev1.Pod{left, unlabelled} {
		pod.OwnerReferences[0].Controller = nil
		create(t, pod)
	}
	s.try(t, []attempt{
		s.creates(t, "a pod without owner", s.pod("mine-worker-0", nil), notOfAJob),
		s.creates(t, "a pod that a job owns and does not control", uncontrolled, notOfAJob),
		s.deletes(t, "a pod that a Kubeflow job left to a job", left, ""),
		s.deletes(t, "a pod that a job owns and no Kubeflow job left", unlabelled, notOfAJob),
		s.creates(t, "a pod named after another job", s.pod("other-worker-0", s.running), "named after their TrainingJob"),
		s.creates(t, "a pod in kube-system", in("kube-system", s.pod("mine-worker-0", s.running)), "writes nothing in namespace kube-system"),
		s.creates(t, "a pod in the operator's own namespace", in(s.home, s.pod("mine-worker-0", s.running)), "writes nothing in namespace "+s.home),
		s.deletes(t, "a foreign pod", foreign, notOfAJob),
		s.deletes(t, "a pod that something else controls", controlled, notOfAJob),
		s.patches(t, "the labels of a foreign pod", foreign, `{"metadata": {"labels": {"trainingjob.dev/life": "1-0"}}}`, notOfAJob),
		s.patches(t, "the image of a foreign pod", foreign, `{"spec": {"containers": [{"name": "main", "image": "docker.io/library/busybox@sha256:`+digest+`"}]}}`, notOfAJob),
		s.patches(t, "an owner for a foreign pod", foreign, `{"metadata": {"ownerReferences": [{"apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob", "name": "mine", "uid": "u", "controller": true}]}}`, notOfAJob),
		{"all pods of the namespace", func() error {
			return s.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(s.tenant), client.DryRunAll)
		}, notOfAJob},
	})
}

const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestAStolenTokenChangesOfAPodOnlyWhatTheOperatorChanges(t *testing.T) {
	s := steal(t)
	mine := s.pod("mine-worker-0", s.running)
	mine.Labels, mine.Annotations = map[string]string{"app": "x", v1alpha1.LabelJobName: "mine"}, map[string]string{"note": "x"}
	create(t, mine)
	image := func(name string) string {
		return `{"spec": {"containers": [{"name": "main", "image": "` + name + `"}]}}`
	}
	const onlyADigest = "changes an image only to a digest of the same repository"
	s.try(t, []attempt{
		s.creates(t, "a pod", s.pod("mine-worker-1", s.running), ""),
		s.patches(t, "in place", mine, `{"metadata": {"labels": {"trainingjob.dev/life": "1-0"}, "annotations": {"trainingjob.dev/in-place-restart": "x", "env.trainingjob.dev/RANK": "1"}}, `+
			image("docker.io/library/busybox:life-1-0@sha256:" + digest)[1:], ""),
		s.patches(t, "out of its Service", mine, `{"metadata": {"labels": {"trainingjob.dev/job-name": null}}}`, ""),
		s.deletes(t, "its deletion", mine, ""),
		s.patches(t, "an image of another repository", mine, image("docker.io/library/evil@sha256:"+digest), onlyADigest),
		s.patches(t, "an image of another registry", mine, image("registry.example.com/library/busybox@sha256:"+digest), onlyADigest),
		s.patches(t, "an image by its tag", mine, image("busybox:latest"), onlyADigest),
		s.patches(t, "a label of others", mine, `{"metadata": {"labels": {"app": "y"}}}`, "only labels of its own"),
		s.patches(t, "a label of others away", mine, `{"metadata": {"labels": {"app": null}}}`, "only labels of its own"),
		s.patches(t, "a new label of others", mine, `{"metadata": {"labels": {"example.com/trainingjob.dev": "y"}}}`, "only labels of its own"),
		s.patches(t, "an annotation of others", mine, `{"metadata": {"annotations": {"note": "y"}}}`, "only annotations of its own"),
		s.patches(t, "an annotation of others away", mine, `{"metadata": {"annotations": {"note": null}}}`, "only annotations of its own"),
		s.patches(t, "a finalizer", mine, `{"metadata": {"finalizers": ["example.com/stay"]}}`, "neither owners nor finalizers"),
		{"a toleration", func() error {
			patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}]`))
			return s.Patch(t.Context(), mine.DeepCopy(), patch, client.DryRunAll)
		}, "nothing else in the spec of a pod"},
		s.patches(t, "its end", mine, `{"spec": {"activeDeadlineSeconds": 1}}`, ""),
		s.patches(t, "a deadline", mine, `{"spec": {"activeDeadlineSeconds": 3600}}`, "nothing else in the spec of a pod"),
		{"an eviction", func() error {
			return s.SubResource("eviction").Create(t.Context(), mine, eviction(mine), client.DryRunAll)
		}, "does not write pods/eviction"},
		{"a node", func() error {
			return s.SubResource("binding").Create(t.Context(), mine, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, client.DryRunAll)
		}, "does not write pods/binding"},
		{"an ephemeral container", func() error {
			changed := mine.DeepCopy()
			changed.ResourceVersion = "" // the scheduler may have written meanwhile
			changed.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: "evil", TerminationMessagePolicy: "File", ImagePullPolicy: "Always"}}}
			return s.SubResource("ephemeralcontainers").Update(t.Context(), changed, client.DryRunAll)
		}, "does not write pods/ephemeralcontainers"},
		{"a status", func() error {
			changed := mine.DeepCopy()
			changed.ResourceVersion, changed.Status.Phase = "", corev1.PodFailed
			return s.Status().Update(t.Context(), changed, client.DryRunAll)
		}, "does not write pods/status"},
	})
}

func TestAStolenTokenMakesOnlyTheChildrenOfJobs(t *testing.T) {
	s := steal(t)
	lease := func(name string, job *v1alpha1.TrainingJob) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: s.meta(name, job)}
	}
	election := in(s.home, lease(operatorName, nil))
	create(t, election)
	const headless, key = "only headless Services without external addresses", "only the SSH keys of MPI jobs"
	s.try(t, []attempt{
		s.creates(t, "a Service", s.service(func(*corev1.Service) {}), ""),
		s.creates(t, "a Service without owner", s.service(func(o *corev1.Service) { o.OwnerReferences = nil }), notOfAJob),
		s.creates(t, "a Service of another name", s.service(func(o *corev1.Service) { o.Name = "mine-api" }), "named after their TrainingJob"),
		s.creates(t, "a Service with an address", s.service(func(o *corev1.Service) {
			o.Spec.ClusterIP, o.Spec.Ports = "", []corev1.ServicePort{{Port: 443}}
		}), headless),
		s.creates(t, "a load balancer", s.service(func(o *corev1.Service) {
			o.Spec.ClusterIP, o.Spec.Type, o.Spec.Ports = "", corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 443}}
		}), headless),
		s.creates(t, "an external address", s.service(func(o *corev1.Service) { o.Spec.ExternalIPs = []string{"192.0.2.1"} }), headless),
		s.creates(t, "a Lease of a job", lease("mine-progress", s.running), "named after their TrainingJob"),
		s.creates(t, "a Lease of nobody", lease("mine-progress", nil), notOfAJob),
		s.creates(t, "a leader's Lease elsewhere", lease(operatorName, nil), notOfAJob),
		s.patches(t, "the own election", election, `{"spec": {"holderIdentity": "me"}}`, ""),
		s.creates(t, "a key", s.secret("mine-12345678-ssh", corev1.SecretTypeSSHAuth, s.running), ""),
		s.creates(t, "a key of nobody", s.secret("mine-12345678-ssh", corev1.SecretTypeSSHAuth, nil), notOfAJob),
		s.creates(t, "another Secret", s.secret("mine-12345678-ssh", corev1.SecretTypeOpaque, s.running), key),
		s.creates(t, "a Secret of another name", s.secret("mine-token", corev1.SecretTypeSSHAuth, s.running), key),
		s.creates(t, "a Secret in kube-system", in("kube-system", s.secret("mine-12345678-ssh", corev1.SecretTypeSSHAuth, s.running)), "writes nothing in namespace kube-system"),
	})
}

func TestAStolenTokenDeletesOnlyJobsWhoseTimeToLiveIsOver(t *testing.T) {
	s := steal(t)
	const nothing = "changes nothing of a TrainingJob but its status"
	status := s.running.DeepCopy()
	status.Status.Message = "x"
	suspended := s.job(t, "still", suspendedJob)
	left := s.job(t, "left", `metadata: {annotations: {trainingjob.dev/kubeflow-source: x}}`)
	owner := func(name, more string) string {
		return `{"metadata": {"ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "` + name + `", "uid": "u", "controller": true}]}` + more + `}`
	}
	adopts := func(name string, job *v1alpha1.TrainingJob, patch, want string) attempt {
		return attempt{name, func() error {
			return s.Patch(t.Context(), job.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
		}, want}
	}
	s.try(t, []attempt{
		adopts("an owner for what a Kubeflow job left", left, owner("left", ""), ""),
		adopts("an owner of another name", left, owner("other", ""), nothing),
		adopts("an owner, and a change", left, owner("left", `, "spec": {"suspend": true}`), nothing),
		adopts("an owner for a user's job", s.running, owner("mine", ""), nothing),
		{"a status", func() error { return s.Status().Update(t.Context(), status.DeepCopy(), client.DryRunAll) }, ""},
		s.deletes(t, "a job that has finished and has a time to live", s.expiring, ""),
		s.deletes(t, "a job that runs", s.running, "deletes only a TrainingJob that serves a Kubeflow job, or that has finished and has"),
		s.deletes(t, "a job that has finished", s.finished, "deletes only a TrainingJob that serves a Kubeflow job, or that has finished and has"),
		{"all jobs", func() error {
			return s.DeleteAllOf(t.Context(), &v1alpha1.TrainingJob{}, client.InNamespace(s.tenant), client.DryRunAll)
		}, "deletes only a TrainingJob that serves a Kubeflow job, or that has finished and has"},
		{"a spec", func() error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"suspend": true}}`))
			return s.Patch(t.Context(), s.running.DeepCopy(), patch, client.DryRunAll)
		}, nothing},
		{"replicas", func() error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": 9}}`))
			return s.SubResource("scale").Patch(t.Context(), suspended.DeepCopy(), patch, client.DryRunAll)
		}, nothing},
	})
}

func TestANamespaceThatAnAdministratorExcludesIsLeftAlone(t *testing.T) {
	s := steal(t)
	excluded := namespace(t, map[string]string{"trainingjob.dev/operator": "excluded"})
	s.try(t, []attempt{s.creates(t, "a pod", in(excluded, s.pod("mine-worker-0", s.running)), "writes nothing in namespace "+excluded)})
}
