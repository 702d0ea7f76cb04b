//go:build e2e

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// policed returns a namespace in which the admission policies hold, and only there, under names of their own.
func policed(t *testing.T) string {
	t.Helper()
	ns := namespace(t, nil)
	install(t, admission, ns, &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
	})
	return ns
}

// install installs the validating policies of the folder where the selection says, everywhere for nil. Their names end with suffix, as
// they may be there already.
func install(t *testing.T, folder, suffix string, selected *admissionv1.MatchResources) {
	t.Helper()
	objects := rendered(t, folder)
	for _, object := range objects {
		name := object.GetName()
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policy := find[admissionv1.ValidatingAdmissionPolicy](t, objects, "ValidatingAdmissionPolicy", name)
		binding := find[admissionv1.ValidatingAdmissionPolicyBinding](t, objects, "ValidatingAdmissionPolicyBinding", name)
		policy.Name, binding.Name, binding.Spec.PolicyName = name+"."+suffix, name+"."+suffix, name+"."+suffix
		binding.Spec.MatchResources = selected
		create(t, policy)
		create(t, binding)
	}
}

// allow gives user a right in namespace.
func allow(t *testing.T, namespace, user, name string, rule rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	create(t, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}})
	create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
}

// allowInCluster gives user rights on what belongs to no namespace.
func allowInCluster(t *testing.T, name, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	create(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
}

func TestThePolicyAsksForTheRightsThatThePodsNeed(t *testing.T) {
	const user = "alice"
	ns := policed(t)
	alice, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, user, "jobs", rbacv1.PolicyRule{
		APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "patch", "get"},
	})
	asRobot := `spec: {replicaSpecs: {Worker: {template: {spec: {serviceAccountName: robot}}}}}`
	try := func(change string) func() error {
		return func() error { return alice.Create(t.Context(), job(t, ns, change), client.DryRunAll) }
	}

	eventually(t, "a job without the right to create pods", try(`{}`), "alice may not create pods in namespace "+ns+", so neither a TrainingJob: ask for a role with the verb create on pods")
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	eventually(t, "a job with the right to create pods", try(`{}`), "")
	eventually(t, "a job of another service account", try(asRobot), "alice may not use service account robot in namespace "+ns+": leave template.spec.serviceAccountName out")
	allow(t, ns, user, "robot", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"robot"}, Verbs: []string{"use"},
	})
	eventually(t, "a job of a service account that may be used", try(asRobot), "")
}

// A queue is the name of a Volcano queue, which belongs to no namespace; so does a priority class.
func TestThePolicyAsksForTheRightToUseQueuesAndPriorityClasses(t *testing.T) {
	const user = "bob"
	ns := policed(t)
	bob, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, user, "jobs", rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "get"}})
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	try := func(change string) func() error {
		return func() error { return bob.Create(t.Context(), job(t, ns, change), client.DryRunAll) }
	}
	eventually(t, "the policy holds", try(`spec: {replicaSpecs: {Worker: {template: {spec: {serviceAccountName: robot}}}}}`), "bob may not use")
	expectRefusal(t, try(`{}`)(), "")

	const inQueue = `spec: {scheduling: {gang: Volcano, queue: research}}`
	const noQueue = "bob may not use Volcano queue research: leave the queue out, or ask for a cluster role with the verb use on queues"
	expectRefusal(t, try(inQueue)(), noQueue)
	const noClass = "bob may not use priority class high: leave priorityClassName out, or ask for a cluster role with the verb use on priorityclasses"
	important := map[string]string{
		"the gang": `spec: {scheduling: {priorityClassName: high}}`,
		"a role":   `spec: {replicaSpecs: {Worker: {template: {spec: {priorityClassName: high}}}}}`,
	}
	for name, change := range important {
		t.Run("a priority class of "+name, func(t *testing.T) { expectRefusal(t, try(change)(), noClass) })
	}
	t.Run("a queue for a job that waits", func(t *testing.T) {
		waiting := typed(t, job(t, ns, suspendedJob))
		create(t, waiting)
		waiting.Spec.Scheduling = &v1alpha1.Scheduling{Gang: v1alpha1.GangVolcano, Queue: "research"}
		expectRefusal(t, bob.Update(t.Context(), waiting, client.DryRunAll), noQueue)
	})

	allowInCluster(t, ns, user,
		rbacv1.PolicyRule{APIGroups: []string{"scheduling.volcano.sh"}, Resources: []string{"queues"}, ResourceNames: []string{"research"}, Verbs: []string{"use"}},
		rbacv1.PolicyRule{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"priorityclasses"}, ResourceNames: []string{"high"}, Verbs: []string{"use"}})
	eventually(t, "a queue that may be used", try(inQueue), "")
	for name, change := range important {
		t.Run("a priority class of "+name+" that may be used", func(t *testing.T) { expectRefusal(t, try(change)(), "") })
	}
	expectRefusal(t, try(`spec: {scheduling: {gang: Volcano, queue: others}}`)(), "bob may not use Volcano queue others")
}

// The API server gives an expression the time of two questions about rights, and a policy that of 28.
func TestThePolicyAsksOfManyNamesInTime(t *testing.T) {
	const user = "carol"
	ns := policed(t)
	carol, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, user, "jobs", rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create"}})
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	allow(t, ns, user, "robots", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"a", "b", "c", "d"}, Verbs: []string{"use"}})
	allowInCluster(t, ns, user, rbacv1.PolicyRule{APIGroups: []string{"scheduling.k8s.io"}, Resources: []string{"priorityclasses"}, ResourceNames: []string{"a", "b", "c", "d"}, Verbs: []string{"use"}})
	roles := []v1alpha1.Role{v1alpha1.Chief, v1alpha1.PS, v1alpha1.Worker, v1alpha1.Evaluator}
	// as creates a job whose roles have these service accounts, and priority classes of the same names.
	as := func(names ...string) func() error {
		object, specs := job(t, ns), map[string]any{}
		for i, name := range names {
			specs[string(roles[i])] = parse(t, `template: {spec: {priorityClassName: `+name+`, serviceAccountName: `+name+`, containers: [{name: main, image: busybox}]}}`)
		}
		object.Object["spec"].(map[string]any)["replicaSpecs"] = specs
		return func() error { return carol.Create(t.Context(), object.DeepCopy(), client.DryRunAll) }
	}
	eventually(t, "one name that may not be used", as("e", "e", "e", "e"), "carol may not use service account e in namespace "+ns)
	eventually(t, "one name for all roles", as("a", "a", "a", "a"), "")
	eventually(t, "four names", as("a", "b", "c", "d"), "")
	expectRefusal(t, as("a", "b", "c", "e")(), "carol may not use all of the service accounts ")
	own := job(t, ns, `spec: {framework: Custom}`)
	own.Object["spec"].(map[string]any)["replicaSpecs"] = parse(t, `
Worker: {template: {spec: {serviceAccountName: a, containers: [{name: main, image: busybox}]}}}
b: {template: {spec: {serviceAccountName: b, containers: [{name: main, image: busybox}]}}}
c: {template: {spec: {serviceAccountName: c, containers: [{name: main, image: busybox}]}}}
d: {template: {spec: {serviceAccountName: d, containers: [{name: main, image: busybox}]}}}
e: {template: {spec: {serviceAccountName: e, containers: [{name: main, image: busybox}]}}}`)
	expectRefusal(t, carol.Create(t.Context(), own, client.DryRunAll), "a job may name 4 service accounts: use fewer")
	five := job(t, ns, `spec: {scheduling: {priorityClassName: e}}`)
	five.Object["spec"].(map[string]any)["replicaSpecs"] = parse(t, `
Chief: {replicas: 1, template: {spec: {priorityClassName: a, containers: [{name: main, image: busybox}]}}}
Evaluator: {replicas: 1, template: {spec: {priorityClassName: b, containers: [{name: main, image: busybox}]}}}
Worker: {template: {spec: {priorityClassName: c, containers: [{name: main, image: busybox}]}}}
PS: {template: {spec: {priorityClassName: d, containers: [{name: main, image: busybox}]}}}`)
	expectRefusal(t, carol.Create(t.Context(), five, client.DryRunAll), "a job may name 4 priority classes: use fewer")
}

// A job grows by its subresource scale as by its spec.
func TestThePolicyAsksAScalerForTheRightToCreatePods(t *testing.T) {
	const user = "dave"
	ns := policed(t)
	dave, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, user, "jobs", rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs/scale"}, Verbs: []string{"get", "update", "patch"}})
	elastic := typed(t, job(t, ns, suspendedJob))
	create(t, elastic)
	scale := func(c client.Client) func() error {
		return func() error {
			return c.SubResource("scale").Patch(t.Context(), elastic.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": 20}}`)), client.DryRunAll)
		}
	}
	eventually(t, "a scaler without the right to create pods", scale(dave), "dave may not create pods in namespace "+ns+", so it may not scale a job")
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	eventually(t, "a scaler with the right to create pods", scale(dave), "")
	const controller = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
	autoscaler, err := connectAs(controller)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, controller, "autoscaler", rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs/scale"}, Verbs: []string{"patch"}})
	eventually(t, "a HorizontalPodAutoscaler", scale(autoscaler), "")
}

// A Kubeflow job makes the same pods.
func TestThePolicyAsksForTheSameRightsForKubeflowJobs(t *testing.T) {
	const user = "erin"
	withKubeflowKinds(t)
	ns := policed(t)
	erin, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, user, "jobs", rbacv1.PolicyRule{APIGroups: []string{"kubeflow.org"}, Resources: []string{"*"}, Verbs: []string{"create", "update", "get"}})
	try := func(kind, change string) func() error {
		return func() error { return erin.Create(t.Context(), kubeflowJob(t, ns, kind, change), client.DryRunAll) }
	}
	kinds := []string{"PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"}
	for _, kind := range kinds {
		eventually(t, kind, try(kind, `{}`), "erin may not create pods in namespace "+ns+", so neither a Kubeflow job")
	}
	allow(t, ns, user, "pods", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}})
	for _, kind := range kinds {
		eventually(t, kind, try(kind, `{}`), "")
	}
	for change, refusal := range map[string]string{
		`spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {serviceAccountName: robot}}}}}`: "erin may not use service account robot",
		`spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {priorityClassName: high}}}}}`:   "erin may not use priority class high",
		`spec: {runPolicy: {schedulingPolicy: {priorityClass: high}}}`:                           "erin may not use priority class high",
		`spec: {runPolicy: {schedulingPolicy: {queue: research}}}`:                               "erin may not use Volcano queue research: leave the queue out",
	} {
		expectRefusal(t, try("PyTorchJob", change)(), refusal)
	}

	existing := kubeflowJob(t, ns, "PyTorchJob", `spec: {runPolicy: {suspend: true}}`)
	create(t, existing)
	change := func(by client.Client, change string) error {
		changed := existing.DeepCopy()
		merge(changed.Object, parse(t, change))
		return by.Update(t.Context(), changed, client.DryRunAll)
	}
	const asRobot = `spec: {pytorchReplicaSpecs: {Worker: {template: {spec: {serviceAccountName: robot}}}}}`
	expectRefusal(t, change(erin, `spec: {runPolicy: {suspend: false}}`), "")
	expectRefusal(t, change(erin, asRobot), "erin may not use service account robot")

	// Kueue starts the job with the node selectors of a flavor.
	const kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
	allow(t, ns, kueue, "kueue", rbacv1.PolicyRule{APIGroups: []string{"kubeflow.org"}, Resources: []string{"*"}, Verbs: []string{"create", "update"}})
	starter, err := connectAs(kueue)
	if err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, change(starter, `spec: {runPolicy: {suspend: false}, pytorchReplicaSpecs: {Worker: {template: {spec: {nodeSelector: {gpu: a}}}}}}`), "")
	expectRefusal(t, starter.Create(t.Context(), kubeflowJob(t, ns, "PyTorchJob", `metadata: {name: other}`), client.DryRunAll), kueue+" may not create pods")
}

// The creator of a Kubeflow job needed the rights, and the operator makes its TrainingJob. Nobody else may name such an owner instead.
func TestThePolicyLetsTheOperatorServeKubeflowJobs(t *testing.T) {
	ns := policed(t)
	served := func(user string) func() error {
		c, err := connectAs(user)
		if err != nil {
			t.Fatal(err)
		}
		allow(t, ns, user, strings.ReplaceAll(user, ":", "-"), rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev", "kubeflow.org"}, Resources: []string{"*"}, Verbs: []string{"create", "update"}})
		return func() error {
			return c.Create(t.Context(), job(t, ns, `spec: {replicaSpecs: {Worker: {template: {spec: {serviceAccountName: robot}}}}}`,
				`metadata: {ownerReferences: [{apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: good, uid: u, controller: true, blockOwnerDeletion: true}]}`), client.DryRunAll)
		}
	}
	eventually(t, "a user who names a Kubeflow job", served("frank"), "frank may not create pods")
	eventually(t, "the operator", served("system:serviceaccount:trainingjob-system:trainingjob-operator"), "")
}

func TestThePolicyLetsControllersChangeWhatMakesNoPods(t *testing.T) {
	const queue = "queue"
	ns := policed(t)
	controller, err := connectAs(queue)
	if err != nil {
		t.Fatal(err)
	}
	allow(t, ns, queue, "jobs", rbacv1.PolicyRule{
		APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "get"},
	})
	waiting := typed(t, job(t, ns, suspendedJob))
	create(t, waiting)
	eventually(t, "a job of the queue's own", func() error {
		return controller.Create(t.Context(), job(t, ns, `metadata: {name: other}`), client.DryRunAll)
	}, "queue may not create pods")

	resumed := waiting.DeepCopy()
	resumed.Spec.Suspend = ptr.To(false)
	expectRefusal(t, controller.Update(t.Context(), resumed, client.DryRunAll), "")
	changed := waiting.DeepCopy()
	worker := changed.Spec.ReplicaSpecs["Worker"]
	worker.Template.Spec.Containers[0].Image = "other"
	changed.Spec.ReplicaSpecs["Worker"] = worker
	expectRefusal(t, controller.Update(t.Context(), changed, client.DryRunAll), "queue may not create pods")
}

// Kueue's adapter is rendered from its own manifests, and may do there what they allow.
func TestThePolicyLetsKueuesAdapterStartAndSuspendJobs(t *testing.T) {
	const user, editor = "system:serviceaccount:trainingjob-system:" + adapterName, "editor"
	ns := policed(t)
	rights := rbacv1.PolicyRule{APIGroups: []string{"trainingjob.dev"}, Resources: []string{"trainingjobs"}, Verbs: []string{"create", "update", "get"}}
	allow(t, ns, user, "adapter", rights)
	allow(t, ns, editor, "editor", rights)
	adapter, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	person, err := connectAs(editor)
	if err != nil {
		t.Fatal(err)
	}
	waiting := typed(t, job(t, ns, suspendedJob))
	create(t, waiting)
	running := typed(t, job(t, ns, `metadata: {name: running}`))
	create(t, running)
	eventually(t, "a job of the adapter's own", func() error {
		return adapter.Create(t.Context(), job(t, ns, `metadata: {name: other}`), client.DryRunAll)
	}, user+" may not create pods")

	cases := []struct {
		name    string
		job     *v1alpha1.TrainingJob
		suspend bool
	}{
		{"starting a job with a flavor's node selector", waiting, false},
		{"suspending a job and changing its node selector", running, true},
		{"changing a job that waits", waiting, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			changed := c.job.DeepCopy()
			changed.Spec.Suspend = ptr.To(c.suspend)
			worker := changed.Spec.ReplicaSpecs[v1alpha1.Worker]
			worker.Template.Spec.NodeSelector = map[string]string{"flavor": "gpu"}
			changed.Spec.ReplicaSpecs[v1alpha1.Worker] = worker
			expectRefusal(t, person.Update(t.Context(), changed.DeepCopy(), client.DryRunAll), "editor may not create pods")
			expectRefusal(t, adapter.Update(t.Context(), changed, client.DryRunAll), "")
		})
	}
}

// eventually waits for do to have the outcome that expectRefusal describes: policies and roles take a moment.
func eventually(t *testing.T, what string, do func() error, sentence string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		last = do()
		return matches(last, sentence), nil
	})
	if err != nil {
		t.Log(what)
		expectRefusal(t, last, sentence)
	}
}
