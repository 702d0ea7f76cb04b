package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/trainingjob/operator/pkg/operator/intake/sieve"
	"github.com/trainingjob/operator/test/sim/builder"
)

// clinic is the cluster that the doctor sees: what its API serves, what the caller may not do, and what is in it.
type clinic struct {
	serves  map[string][]string
	denies  []string // "delete pods"
	objects []client.Object
	on      interceptor.Funcs
	skipped []sieve.Skipped
}

// whole serves the CRD as this program knows it.
func whole() map[string][]string {
	return map[string][]string{"trainingjob.dev/v1alpha1": {"trainingjobs", "trainingjobs/status", "trainingjobs/scale"}}
}

// examine runs the doctor and returns its status and what it says.
func (c *clinic) examine(t *testing.T) (status int, says string) {
	t.Helper()
	s := newStage(c.on, c.objects...)
	core := corefake.NewClientset()
	for version, resources := range c.serves {
		list := &metav1.APIResourceList{GroupVersion: version}
		for _, name := range resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		core.Resources = append(core.Resources, list)
	}
	core.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create, _ := a.(clienttesting.CreateAction)
		review, _ := create.GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = !slices.Contains(c.denies, asked.Verb+" "+asked.Resource)
		return true, review, nil
	})
	connect := s.connect
	s.connect = func() (*connection, error) {
		cluster, err := connect()
		cluster.core, cluster.discovery = core, core.Discovery()
		cluster.skipped = func() []sieve.Skipped { return c.skipped }
		return cluster, err
	}
	status = s.run(t.Context(), []string{"doctor"})
	return status, s.out.String() + s.err.String()
}

// lease is that of an operator that renewed it so long before the tool's clock.
func lease(namespace, holder string, ago time.Duration) *coordinationv1.Lease {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "trainingjob-operator"}}
	renewed := metav1.NewMicroTime(builder.Epoch.Add(10*time.Minute - ago))
	l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = &renewed, ptr.To[int32](15)
	if holder != "" {
		l.Spec.HolderIdentity = &holder
	}
	return l
}

func namespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Labels: labels}}
}

func TestDoctor(t *testing.T) {
	alive := lease("trainingjob-system", "operator-1", 5*time.Second)
	closed := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "closed"}}
	closed.Status.Hard = corev1.ResourceList{"count/pods": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "gpus"}}
	quota.Status.Hard = corev1.ResourceList{"pods": resource.MustParse("10"), "requests.nvidia.com/gpu": resource.MustParse("8")}
	quota.Status.Used = corev1.ResourceList{"pods": resource.MustParse("3"), "requests.nvidia.com/gpu": resource.MustParse("8")}
	unseen := builder.Job("waits", builder.Workers(1))
	unseen.CreationTimestamp = builder.Time(0)
	young := builder.Job("young", builder.Workers(1))
	young.CreationTimestamp = builder.Time(10*time.Minute - 11*time.Second)
	seen, _ := running("seen", 1)
	gangs := whole()
	gangs["scheduling.k8s.io/v1beta1"], gangs["kueue.x-k8s.io/v1beta1"] = []string{"podgroups"}, []string{"workloads"}
	older := map[string][]string{"trainingjob.dev/v1alpha1": {"trainingjobs"}}
	blind := interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		if _, isLeases := list.(*coordinationv1.LeaseList); isLeases {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
		}
		return w.List(ctx, list, o...)
	}}
	undecodable := sieve.Skipped{
		TypeMeta:  metav1.TypeMeta{APIVersion: "trainingjob.dev/v1alpha1", Kind: "TrainingJob"},
		Namespace: "team-a", Name: "odd", Why: "port 99999999999",
	}
	cases := []struct {
		name   string
		clinic clinic
		status int
		says   []string
	}{
		{"all is well", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil)}}, 0,
			[]string{"ok   The CRD serves trainingjob.dev/v1alpha1.", "ok   The operator in namespace trainingjob-system is alive: operator-1 leads.", "ok   No quota of namespace team-a is used up (0 there).", "suffice for all verbs."}},
		{"no CRD", clinic{objects: []client.Object{alive, namespace(nil)}}, 1, []string{"bad  The cluster does not serve trainingjob.dev/v1alpha1: install the CRD"}},
		{"an older CRD", clinic{serves: older, objects: []client.Object{alive, namespace(nil)}}, 1, []string{"bad  The CRD is older than this program"}},
		{"no operator", clinic{serves: whole(), objects: []client.Object{namespace(nil)}}, 0, []string{"note Whether an operator runs is not known: none has the Lease trainingjob-operator."}},
		{"an operator that is dead", clinic{serves: whole(), objects: []client.Object{lease("ops", "operator-1", time.Minute), namespace(nil)}}, 1, []string{"bad  The operator in namespace ops is not alive: operator-1 last renewed its Lease 1m0s ago."}},
		{"an operator that went", clinic{serves: whole(), objects: []client.Object{lease("ops", "", time.Second), namespace(nil)}}, 1, []string{"bad  No operator leads in namespace ops"}},
		{"a Lease that may not be read", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil)}, on: blind}, 0, []string{"note Whether an operator leads is not known: you may not read its Lease."}},
		{"a job that nobody looks at", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil), unseen}}, 1, []string{"bad  No operator looks at this namespace: job waits was created 10m0s ago"}},
		{"a job of ten seconds that nobody looks at", clinic{serves: whole(), objects: []client.Object{namespace(nil), young}}, 1, []string{"bad  No operator looks at this namespace: job young was created 11s ago"}},
		{"no Lease, and a job with a status", clinic{serves: whole(), objects: []client.Object{namespace(nil), seen}}, 0, []string{"note Whether an operator runs is not known", "ok   An operator has given a status to 1 job of namespace team-a."}},
		{"only the rights on jobs", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil)}, denies: []string{"list pods", "watch pods", "list events", "get pods"}}, 1,
			[]string{"status, why, report: pods. Missing: list pods, watch pods. Ask for the ClusterRole view.", "logs. Missing: get pods/log. Ask for the ClusterRole view.", "restart. Missing: list pods. Ask for the ClusterRole view."}},
		{"a job that cannot be decoded", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil)}, skipped: []sieve.Skipped{undecodable}}, 1,
			[]string{"bad  The operator ignores TrainingJob.trainingjob.dev team-a/odd, which cannot be decoded: port 99999999999. Suspend the job and mend the field"}},
		{"gangs and queues", clinic{serves: gangs, objects: []client.Object{alive, namespace(nil)}}, 0, []string{"ok   scheduling.gang can be Native. Not installed: Volcano, Coscheduling.", "ok   Kueue is there"}},
		{"a quota that is used up", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil), quota}}, 0, []string{"note Quota gpus leaves no more requests.nvidia.com/gpu: 8 of 8 used."}},
		{"a quota that allows no pod", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil), closed}}, 1, []string{"bad  Quota closed allows no pods: jobs of namespace team-a cannot run. Have its count/pods raised."}},
		{"admission", clinic{serves: whole(), objects: []client.Object{alive, namespace(map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "istio-injection": "enabled"})}}, 0,
			[]string{"note Namespace team-a enforces pod security level restricted", "note A service mesh puts a side-car"}},
		{"no namespace", clinic{serves: whole(), objects: []client.Object{alive}}, 1, []string{"bad  There is no namespace team-a"}},
		{"few rights", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil)}, denies: []string{"patch trainingjobs", "create trainingjobs"}}, 0,
			[]string{"note Your rights in namespace team-a do not suffice for: restart. Missing: patch trainingjobs.", "note Your rights in namespace team-a do not suffice for: submit. Missing: create trainingjobs."}},
		{"too few rights", clinic{serves: whole(), objects: []client.Object{alive, namespace(nil)}, denies: []string{"watch trainingjobs"}}, 1, []string{"bad  Your rights in namespace team-a do not suffice for: list, status, why, timeline, report, ui. Missing: watch trainingjobs."}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, says := c.clinic.examine(t)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, line := range c.says {
				if !strings.Contains(says, line) {
					t.Errorf("it does not say %q, but\n%s", line, says)
				}
			}
		})
	}
}

// The live table fits the screen, as lines that have scrolled away cannot be painted over.
func TestTheLiveTableFitsTheScreen(t *testing.T) {
	text := "head\nwords\n\nRANK\n0\n1\n2\n"
	for height, want := range map[int]string{
		0: text, 8: text, 24: text,
		7: "head\nwords\n\nRANK\n0\n... and 2 more\n",
		4: "head\nwords\n... and 5 more\n",
		2: "... and 7 more\n",
		1: "... and 7 more\n",
	} {
		s := screen{height: func() int { return height }}
		got := s.cut(text)
		if got != want || height > 1 && strings.Count(got, "\n") >= max(height, 2) && height < 8 {
			t.Errorf("%d lines high: %q, want %q", height, got, want)
		}
	}
	_, objects := running("mnist", 30)
	s := newStage(interceptor.Funcs{}, objects...)
	s.screen.height = func() int { return 10 }
	show := s.livePicture(&statusFlags{all: true})
	c, _ := s.connect()
	job, err := c.job(t.Context(), "mnist")
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.view(t.Context(), s.tool, job)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := show(v); err != nil {
			t.Fatal(err)
		}
	}
	first, second, painted := strings.Cut(s.out.String(), "\x1b[9A\x1b[J")
	if !painted || strings.Count(first, "\n") != 9 || first != second || !strings.Contains(first, "... and 26 more") {
		t.Errorf("painted %q", s.out)
	}
}

// deployment is one of an operator, with its labels and arguments.
func deployment(namespace, name string, labels map[string]string, arguments ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Args: arguments}}
	return d
}

// The doctor knows which Kubeflow kinds are served, and what Kubeflow's operator left.
func TestDoctorOnKubeflow(t *testing.T) {
	kinds := whole()
	kinds["kubeflow.org/v1"] = []string{"pytorchjobs", "tfjobs"}
	queues := maps.Clone(kinds)
	queues["kueue.x-k8s.io/v1beta2"] = []string{"workloads"}
	own := map[string]string{"app.kubernetes.io/name": "trainingjob-operator"}
	theirs := map[string]string{"control-plane": "kubeflow-training-operator"}
	serving := deployment("trainingjob-system", "trainingjob-operator", own, "--leader-elect", "--kubeflow-kinds=PyTorchJob,JAXJob")
	former := deployment("kubeflow", "training-operator", theirs)
	tensorflow := deployment("kubeflow", "training-operator", theirs, "--enable-scheme=tfjob")
	stopped := deployment("kubeflow", "training-operator", theirs)
	stopped.Spec.Replicas = ptr.To[int32](0)
	webhook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validator.training-operator.kubeflow.org"}}
	old := pytorchJob("mnist", nil)
	old.SetCreationTimestamp(builder.Time(0))
	_, served := runningServed("mnist")
	blind := interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		if _, isDeployments := list.(*appsv1.DeploymentList); isDeployments {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "", nil)
		}
		return w.List(ctx, list, o...)
	}}
	const beside, left, unserved = "beside this one", "can neither be created nor changed", "PyTorchJob mnist has no TrainingJob"
	for name, c := range map[string]struct {
		clinic
		status    int
		says, not []string
	}{
		"no kinds":                      {clinic: clinic{serves: whole()}, not: []string{"Kubeflow"}},
		"served and not served":         {clinic: clinic{serves: kinds, objects: append(served, serving)}, status: 1, says: []string{"ok   The operator serves PyTorchJob of Kubeflow.", "note The operator does not serve TFJob", "bad  The operator has --kubeflow-kinds with JAXJob, and the cluster lacks that CRD"}, not: []string{beside, left, unserved}},
		"a job that none serves":        {clinic: clinic{serves: kinds, objects: []client.Object{serving, old}}, status: 1, says: []string{"note " + unserved}},
		"beside Kubeflow's":             {clinic: clinic{serves: kinds, objects: []client.Object{serving, former, webhook}}, status: 1, says: []string{"bad  Kubeflow's operator runs in namespace kubeflow beside this one, and both serve PyTorchJob, JAXJob: kubectl -n kubeflow delete deployment training-operator"}, not: []string{left}},
		"each its own kinds":            {clinic: clinic{serves: kinds, objects: []client.Object{serving, tensorflow}}, status: 1, says: []string{"note Kubeflow's operator runs in namespace kubeflow, and this operator serves none of its kinds."}, not: []string{beside}},
		"a webhook is left":             {clinic: clinic{serves: kinds, objects: []client.Object{serving, stopped, webhook}}, status: 1, says: []string{"bad  The webhook of Kubeflow's operator is there without the operator"}, not: []string{beside}},
		"no right to look":              {clinic: clinic{serves: kinds, objects: []client.Object{old}, on: blind}, says: []string{"note Whether an operator serves TFJob, PyTorchJob is not known", "note " + unserved}},
		"no Deployment, and Kubeflow's": {clinic: clinic{serves: kinds, objects: append(slices.Clone(served), former)}, status: 1, says: []string{"beside this one, and both serve PyTorchJob:"}},
		"no Deployment":                 {clinic: clinic{serves: kinds, objects: served}, says: []string{"ok   An operator serves PyTorchJob of Kubeflow, as jobs of namespace team-a show.", "note Whether an operator serves TFJob is not known"}},

		"no right to stop a queued job": {clinic: clinic{serves: queues, denies: []string{"patch workloads"}}, says: []string{
			"note Your rights in namespace team-a do not suffice for: suspend, resume, why of Kubeflow jobs in a queue of Kueue. Missing: patch workloads.kueue.x-k8s.io. Ask for the ClusterRole kueue-workload-editor-role."}},
		"no queues":          {clinic: clinic{serves: kinds, denies: []string{"patch workloads"}}, not: []string{"workloads"}},
		"no right to change": {clinic: clinic{serves: kinds, denies: []string{"patch pytorchjobs"}}, says: []string{"Missing: patch pytorchjobs.kubeflow.org. Ask for the ClusterRole kubeflow-training-edit."}},
	} {
		t.Run(name, func(t *testing.T) {
			c.objects = append(c.objects, namespace(nil))
			status, says := c.examine(t)
			for _, line := range c.says {
				if !strings.Contains(says, line) {
					t.Errorf("it does not say %q, but\n%s", line, says)
				}
			}
			if status != c.status || slices.ContainsFunc(c.not, func(text string) bool { return strings.Contains(says, text) }) {
				t.Errorf("status %d, want %d; says\n%s", status, c.status, says)
			}
		})
	}
}

// The doctor knows whether the JobSets that name the operator are served.
func TestDoctorOnJobSets(t *testing.T) {
	sets := whole()
	sets["jobset.x-k8s.io/v1alpha2"], sets["trainer.kubeflow.org/v1alpha1"] = []string{"jobsets"}, []string{"trainjobs"}
	own := map[string]string{"app.kubernetes.io/name": "trainingjob-operator"}
	serving := deployment("trainingjob-system", "trainingjob-operator", own, "--leader-elect", "--jobsets")
	without := deployment("trainingjob-system", "trainingjob-operator", own, "--jobsets=false", "--leader-elect")
	set := func(manager string) client.Object {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "mnist", "namespace": "team-a", "uid": "set"}, "spec": map[string]any{"managedBy": manager}}}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"})
		o.SetCreationTimestamp(builder.Time(0))
		return o
	}
	ours, theirs := set("trainingjob.dev/operator"), set("jobset.sigs.k8s.io/jobset-controller")
	const unserved, served = "JobSet mnist has no TrainingJob", "ok   The operator serves the JobSets that name trainingjob.dev/operator in spec.managedBy."
	for name, c := range map[string]struct {
		clinic
		status    int
		says, not []string
	}{
		"neither":           {clinic: clinic{serves: whole(), objects: []client.Object{without}}, not: []string{"JobSet"}},
		"the flag, no CRD":  {clinic: clinic{serves: whole(), objects: []client.Object{serving}}, status: 1, says: []string{"bad  The operator has --jobsets, and the cluster lacks the CRD of JobSets"}},
		"served":            {clinic: clinic{serves: sets, objects: []client.Object{serving, theirs}}, says: []string{served, "suffice for all verbs."}, not: []string{unserved}},
		"served, one waits": {clinic: clinic{serves: sets, objects: []client.Object{serving, ours}}, says: []string{served, "note " + unserved + ", although the operator has --jobsets"}},
		"no flag":           {clinic: clinic{serves: sets, objects: []client.Object{without, theirs}}, says: []string{"note The operator does not serve JobSets: it has no --jobsets."}, not: []string{unserved}},
		"no flag, and one that names the operator": {clinic: clinic{serves: sets, objects: []client.Object{without, ours}}, status: 1,
			says: []string{"bad  " + unserved + ", so no operator serves it: an administrator starts the operator with --jobsets"}},
		"no Deployment": {clinic: clinic{serves: sets, objects: []client.Object{ours}}, status: 1, says: []string{"bad  " + unserved}},
		"no right to change": {clinic: clinic{serves: sets, denies: []string{"patch trainjobs"}}, says: []string{
			"suspend, resume, restart, delete of JobSets and TrainJobs. Missing: patch trainjobs.trainer.kubeflow.org. An administrator grants them"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.objects = append(c.objects, namespace(nil))
			status, says := c.examine(t)
			for _, line := range c.says {
				if !strings.Contains(says, line) {
					t.Errorf("it does not say %q, but\n%s", line, says)
				}
			}
			if status != c.status || slices.ContainsFunc(c.not, func(text string) bool { return strings.Contains(says, text) }) {
				t.Errorf("status %d, want %d; says\n%s", status, c.status, says)
			}
		})
	}
}
