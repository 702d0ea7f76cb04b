package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	admission "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

// The names in the adapter's manifests.
const (
	adapterNamespace = "trainingjob-system"
	adapterAccount   = "trainingjob-kueue-adapter"
)

// startKueueAdapter starts the adapter with the admission policy and the rights of its manifests, and no others: what it lacks
// in a cluster it lacks here.
func (l *lab) startKueueAdapter(ctx context.Context, program program) error {
	client, err := l.dir.client()
	if err != nil {
		return err
	}
	ports, err := l.state.Ports.more(2)
	if err != nil {
		return err
	}
	health, metrics := local(ports[0]), local(ports[1])
	if err := l.installKueueAdapter(ctx, client, program.module); err != nil {
		return err
	}
	kubeconfig, err := l.kubeconfigOf(ctx, client, adapterNamespace, adapterAccount)
	if err != nil {
		return err
	}
	l.adapterMetrics = "http://" + metrics + "/metrics"
	return l.start(ctx, l.addonProcess("kueue-adapter", program.binary, "http://"+health+"/readyz", []string{
		"--kubeconfig=" + kubeconfig, "--metrics-bind-address=" + metrics, "--metrics-secure=false", "--health-probe-bind-address=" + health,
		"--feature-gates=PriorityBoost=true", fmt.Sprintf("--wait-for-pods-ready=%t", l.PodsReadyTimeout > 0),
	}))
}

// installKueueAdapter creates the objects of the component kueue in its folder that the adapter needs outside a pod, or of kueue-1.34 beside it,
// where the API server does not serve MutatingAdmissionPolicies.
func (l *lab) installKueueAdapter(ctx context.Context, client kubernetes.Interface, module string) error {
	folder, err := filepath.EvalSymlinks(module)
	if err != nil {
		return fmt.Errorf("finding the manifests of Kueue's adapter: %w", err)
	}
	served, err := client.Discovery().ServerResourcesForGroupVersion(admission.SchemeGroupVersion.String())
	if err != nil {
		return fmt.Errorf("reading which admission policies the API server has: %w", err)
	}
	if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Kind == "MutatingAdmissionPolicy" }) {
		folder += "-1.34"
	}
	rendered, err := l.kubectl(ctx, "kustomize", folder)
	if err != nil {
		return err
	}
	objects, err := objectsOf(rendered, append(slices.Clone(ofAccounts), "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")...)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: adapterNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace of Kueue's adapter: %w", err)
	}
	return l.applyAll(ctx, l.dir.file("kueue-adapter.json"), objects)
}

// kubeconfigOf writes a kubeconfig of a service account, good for a day, and returns where it is.
func (l *lab) kubeconfigOf(ctx context.Context, client kubernetes.Interface, namespace, account string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 60 * 60)}}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("asking for a token of service account %s: %w", account, err)
	}
	admin, err := l.dir.restConfig()
	if err != nil {
		return "", err
	}
	path := l.dir.file(account + ".kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfig(l.state, admin.CAData, token.Status.Token), path); err != nil {
		return "", fmt.Errorf("writing the kubeconfig of %s: %w", account, err)
	}
	return path, nil
}
