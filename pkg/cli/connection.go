package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/cli/advice"
	"github.com/trainingjob/operator/pkg/cli/logs"
	"github.com/trainingjob/operator/pkg/cli/nearest"
	"github.com/trainingjob/operator/pkg/cli/story"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/intake/sieve"
)

// connection is a cluster, with the caller's rights, and the namespace that the caller means.
type connection struct {
	kube      client.WithWatch
	core      kubernetes.Interface
	log       openLog
	stacks    func(ctx context.Context, namespace string, rank *asked) ([]byte, error)
	discovery discovery.DiscoveryInterface
	namespace string
	// folder is the folder of a local run; empty for a cluster.
	folder string
	// isStopped is whether it is a local run that was stopped before the job had finished.
	isStopped bool
	// skipped returns the objects that the answers so far had and that cannot be decoded.
	skipped func() []sieve.Skipped
}

// What readEnds reads of each log at most, and how long it takes for all.
const (
	endLines, endBytes = 400, 4 << 20
	endsWithin         = 5 * time.Second
)

// defaultHost is the cluster of client-go without a configuration.
const defaultHost = "localhost:8080"

// dial connects by the flags and the kubeconfig, or to a local run. It sends no request yet.
func (t *tool) dial() (*connection, error) {
	if t.local != "" {
		return t.dialLocal()
	}
	loader := t.flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, err
	}
	if raw, err := loader.RawConfig(); err == nil && len(raw.Clusters) == 0 && strings.HasSuffix(config.Host, defaultHost) {
		return nil, clientcmd.ErrEmptyConfig
	}
	config.UserAgent, config.QPS = "kubectl-tj/"+t.version, -1
	config.WarningHandler = rest.NewWarningWriter(t.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	scheme := newScheme()
	sieved := sieve.New(scheme, func(s sieve.Skipped) { fmt.Fprintln(t.ErrOut, "Warning: left out is", state.Printable(s.String())) })
	config.Wrap(sieved.Wrap)
	kube, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &connection{
		kube: kube, core: core, log: logsOf(core), stacks: proxiedStacks(core), discovery: core.Discovery(), namespace: namespace, skipped: sieved.Skipped,
	}, nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two types of one name, which no user can bring about
		}
	}
	return scheme
}

// find connects, and returns the job of that name.
func (t *tool) find(ctx context.Context, name string) (*connection, *v1alpha1.TrainingJob, error) {
	c, err := t.connect()
	if err != nil {
		return nil, nil, err
	}
	job, err := c.job(ctx, name)
	return c, job, err
}

// job returns the job of that name, or the TrainingJob that serves the Kubeflow job pytorchjob/NAME. If there is none the error offers the
// nearest name.
func (c *connection) job(ctx context.Context, name string) (*v1alpha1.TrainingJob, error) {
	if word, plain, isKubeflow := strings.Cut(name, "/"); isKubeflow && c.folder == "" {
		kind, _ := kubeflowKind(word)
		return c.servedJob(ctx, kind, plain)
	}
	job := &v1alpha1.TrainingJob{}
	err := c.kube.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, job)
	if apierrors.IsNotFound(err) {
		return nil, c.unknown(ctx, name)
	}
	return job, err
}

// unknown returns the error about a job that does not exist.
func (c *connection) unknown(ctx context.Context, name string) error {
	var jobs v1alpha1.TrainingJobList
	text := fmt.Sprintf("there is no TrainingJob %s in namespace %s", name, c.namespace)
	if err := c.kube.List(ctx, &jobs, client.InNamespace(c.namespace)); err != nil {
		return errors.New(text)
	}
	var names []string
	for i := range jobs.Items {
		names = append(names, jobs.Items[i].Name)
	}
	switch near := nearest.Name(name, names); {
	case near != "":
		return fmt.Errorf("%s; did you mean %s?", text, near)
	case len(names) == 0:
		return fmt.Errorf("%s, nor any other: give another one with -n, or see all with kubectl tj list -A", text)
	default:
		return fmt.Errorf("%s: see the jobs with %s", text, advice.Reader{Namespace: c.namespace, Folder: c.folder}.Command(advice.List))
	}
}

// jobs returns the jobs of a namespace, or of all if it is empty, that the label selector selects, sorted.
func (c *connection) jobs(ctx context.Context, namespace, selector string) ([]v1alpha1.TrainingJob, error) {
	selected, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %q: write key=value, with commas between several: %w", selector, err)
	}
	var list v1alpha1.TrainingJobList
	if err := c.kube.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selected}); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, byName)
	return list.Items, nil
}

func byName(a, b v1alpha1.TrainingJob) int {
	return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
}

// pods returns the pods of a job, of every life.
func (c *connection) pods(ctx context.Context, job *v1alpha1.TrainingJob) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.kube.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{v1alpha1.LabelJobUID: string(job.UID)})
	return pods.Items, err
}

// view returns all that there is to know of a job, and of the Kubeflow job that it serves.
func (c *connection) view(ctx context.Context, t *tool, job *v1alpha1.TrainingJob) (*story.View, error) {
	pods, err := c.pods(ctx, job)
	if err != nil {
		return nil, err
	}
	v := &story.View{Job: c.asQueued(ctx, job), Pods: pods, Local: c.folder, IsStopped: c.isStopped, Now: t.now()}
	if v.Events, err = c.eventsAbout(ctx, job); err != nil {
		fmt.Fprintln(t.ErrOut, "Events are left out:", explain(err, t.flags))
	}
	for _, pod := range v.Suspects() {
		events, err := c.eventsAbout(ctx, pod)
		if len(v.PodEvents) == 0 || story.HasWarning(events) {
			v.PodEvents = events
		}
		if err != nil || story.HasWarning(events) {
			break
		}
	}
	c.addServed(ctx, v)
	c.readEnds(ctx, v)
	return v, nil
}

// readEnds reads the logs of programs whose ends the statuses of their pods do not explain. A user who may not read them goes without.
func (c *connection) readEnds(ctx context.Context, v *story.View) {
	ctx, cancel := context.WithTimeout(ctx, endsWithin)
	defer cancel()
	reader := &podLogs{open: c.log, namespace: v.Job.Namespace}
	for _, end := range v.Unexplained() {
		log, err := reader.Open(ctx, end.Pod, end.Container, logs.Options{Previous: end.Previous, Tail: endLines})
		if err != nil {
			continue
		}
		timed, _ := io.ReadAll(io.LimitReader(log, endBytes)) // what was read before an error counts
		_ = log.Close()
		var text strings.Builder
		for line := range strings.Lines(string(timed)) {
			_, line, _ = strings.Cut(line, " ")
			text.WriteString(line)
		}
		v.Explain(end, text.String())
	}
}

// eventsAbout returns the Events about an object.
func (c *connection) eventsAbout(ctx context.Context, o client.Object) ([]corev1.Event, error) {
	var events corev1.EventList
	err := c.kube.List(ctx, &events, client.InNamespace(o.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(o.GetUID())})
	return events.Items, err
}
