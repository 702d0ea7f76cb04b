package testbed

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// poll is how often something is looked at that is waited for.
const poll = 50 * time.Millisecond

// Scheme knows Kubernetes' kinds and ours.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// Config returns how to reach the cluster of the kubeconfig, under that user agent and without a limit of the client's own.
func Config(kubeconfig, agent string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.UserAgent = -1, agent
	return config, nil
}

// Connect returns a client of the kubeconfig's cluster that works as Config says.
func Connect(kubeconfig, agent string) (client.WithWatch, error) {
	config, err := Config(kubeconfig, agent)
	if err != nil {
		return nil, err
	}
	kube, err := client.NewWithWatch(config, client.Options{Scheme: Scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster of the kubeconfig %s: %w", kubeconfig, err)
	}
	return kube, nil
}

// NewNamespace makes a namespace whose name begins with the prefix, and returns its name once pods can be created in it: none is
// admitted before the namespace has its default service account.
func NewNamespace(ctx context.Context, kube client.Client, prefix string) (string, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if err := kube.Create(ctx, namespace); err != nil {
		return "", fmt.Errorf("creating a namespace: %w", err)
	}
	account := client.ObjectKey{Namespace: namespace.Name, Name: "default"}
	err := wait.PollUntilContextTimeout(ctx, poll, time.Minute, true, func(ctx context.Context) (bool, error) {
		return kube.Get(ctx, account, &corev1.ServiceAccount{}) == nil, nil
	})
	if err != nil {
		return "", fmt.Errorf("namespace %s has no default service account, without which no pod is admitted: %w", namespace.Name, err)
	}
	return namespace.Name, nil
}

// WriteKubeconfigAs writes to a file the kubeconfig with which the API server takes its user for another one, in these groups.
func WriteKubeconfigAs(file, kubeconfig, user string, groups ...string) error {
	config, err := (&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}).Load()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig %s: %w", kubeconfig, err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate, info.ImpersonateGroups = user, groups
	}
	return clientcmd.WriteToFile(*config, file)
}
