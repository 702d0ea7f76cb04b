package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The names that Kueue expects unless its configuration says otherwise.
const (
	kueueNamespace = "kueue-system"
	kueueSecret    = "kueue-webhook-server-cert"
	kueueService   = "kueue-webhook-service"
)

//go:embed kueue.yaml
var kueueConfig string

// startKueue starts Kueue's manager as a cluster would, except for what a cluster has kubelets for: the certificate
// that Kueue makes for its webhooks and keeps in a Secret is copied into the folder that it reads, and the Service
// that the API server finds them by is another name for this machine.
func (l *lab) startKueue(ctx context.Context, program program) error {
	client, err := l.dir.client()
	if err != nil {
		return err
	}
	ports, err := l.state.Ports.more(1, l.kueueWebhookPort)
	if err != nil {
		return err
	}
	webhook := kueueWebhook{client: client, port: l.kueueWebhookPort}
	if err := prepareForKueue(ctx, client); err != nil {
		return err
	}
	if err := webhook.install(ctx, filepath.Join(program.module, "config/components/webhook/manifests.yaml")); err != nil {
		return err
	}
	certificates, config := l.dir.file("kueue-certificates"), l.dir.file("kueue.yaml")
	values := map[string]string{
		"CERTIFICATES": certificates, "WEBHOOK_PORT": fmt.Sprint(webhook.port), "HEALTH_PORT": fmt.Sprint(ports[0]),
		"WAIT_FOR_PODS_READY": l.waitForPodsReady(),
	}
	if err := os.WriteFile(config, []byte(os.Expand(kueueConfig, func(name string) string { return values[name] })), 0o644); err != nil {
		return fmt.Errorf("writing Kueue's configuration: %w", err)
	}
	manager := l.addonProcess("kueue", program.binary, "http://"+local(ports[0])+"/readyz",
		[]string{"--kubeconfig=" + l.dir.kubeconfig(), "--config=" + config})

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.start(ctx, manager) })
	group.Go(func() error { return mountKueueCertificate(ctx, client, certificates) })
	return group.Wait()
}

// waitForPodsReady returns Kueue's setting of that name; empty for none. A job is queued again once. One that has run may take long to recover,
// as it does after the loss of a node.
func (l *lab) waitForPodsReady() string {
	if l.PodsReadyTimeout == 0 {
		return ""
	}
	return fmt.Sprintf("waitForPodsReady: {timeout: %s, recoveryTimeout: 10m, requeuingStrategy: {backoffBaseSeconds: 1, backoffLimitCount: 1}}", l.PodsReadyTimeout)
}

// prepareForKueue creates what Kueue's installation brings beside its Deployment.
func prepareForKueue(ctx context.Context, client kubernetes.Interface) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kueueNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Kueue's namespace: %w", err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: kueueSecret}}
	if _, err := client.CoreV1().Secrets(kueueNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Secret for Kueue's certificate: %w", err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: kueueService},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if _, err := client.CoreV1().Services(kueueNamespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Service of Kueue's webhooks: %w", err)
	}
	return nil
}

// mountKueueCertificate does a kubelet's work: it waits until Kueue has put a certificate into its Secret and writes
// it into the folder.
func mountKueueCertificate(ctx context.Context, client kubernetes.Interface, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("making the folder for Kueue's certificate: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		secret, err := client.CoreV1().Secrets(kueueNamespace).Get(ctx, kueueSecret, metav1.GetOptions{})
		if err == nil && len(secret.Data[corev1.TLSCertKey]) > 0 {
			return writeKueueCertificate(folder, secret.Data)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for Kueue's certificate: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// writeKueueCertificate writes the certificate last: it is what Kueue waits for.
func writeKueueCertificate(folder string, data map[string][]byte) error {
	for _, name := range []string{corev1.TLSPrivateKeyKey, corev1.TLSCertKey} {
		if err := os.WriteFile(filepath.Join(folder, name), data[name], 0o600); err != nil {
			return fmt.Errorf("writing Kueue's certificate: %w", err)
		}
	}
	return nil
}

// convertByKueue chooses the port of Kueue's webhook and returns what makes a definition name it.
func (l *lab) convertByKueue() (func(*apiextensions.CustomResourceDefinition), error) {
	ports, err := l.state.Ports.more(1)
	if err != nil {
		return nil, err
	}
	l.kueueWebhookPort = int32(ports[0])
	return kueueWebhook{port: l.kueueWebhookPort}.converts, nil
}

// converts lets the definition's versions be converted by Kueue, where there are two that differ.
func (w kueueWebhook) converts(crd *apiextensions.CustomResourceDefinition) {
	converted := map[string]bool{"clusterqueues": true, "cohorts": true, "localqueues": true, "multikueueclusters": true, "workloads": true}
	if !converted[crd.Spec.Names.Plural] {
		return
	}
	path := "/convert"
	crd.Spec.Conversion = &apiextensions.CustomResourceConversion{
		Strategy: apiextensions.WebhookConverter,
		Webhook: &apiextensions.WebhookConversion{
			ClientConfig: &apiextensions.WebhookClientConfig{Service: &apiextensions.ServiceReference{
				Namespace: kueueNamespace, Name: kueueService, Path: &path, Port: &w.port,
			}},
			ConversionReviewVersions: []string{"v1"},
		},
	}
}
