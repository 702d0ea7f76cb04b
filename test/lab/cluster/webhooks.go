package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
)

// peerLabel is on what belongs to a peer that runs.
const peerLabel = "lab.trainingjob.dev/peer"

// webhooks are those of a peer. In a cluster they are reached by a Service; here by an address of this machine, with a certificate that the
// lab has made.
type webhooks struct {
	peer        string
	port        int
	certificate []byte
	// renamed is whether the configurations get other names than in the peer's manifests.
	renamed bool
}

// certificatesIn is where webhook servers look for certificates below their folder for temporary files.
func certificatesIn(folder string) string {
	return filepath.Join(folder, "k8s-webhook-server", "serving-certs")
}

// writeWebhookCertificate makes a certificate for webhooks of this machine, writes it with its key and returns it.
func writeWebhookCertificate(folder string) ([]byte, error) {
	const host = "127.0.0.1"
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for webhooks: %w", err)
	}
	if err := os.MkdirAll(certificatesIn(folder), 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for the certificate of webhooks: %w", err)
	}
	for name, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(certificatesIn(folder), name), content, 0o600); err != nil {
			return nil, fmt.Errorf("writing the certificate of webhooks: %w", err)
		}
	}
	return certificate, nil
}

// satisfyRotator makes the file without which a rotator of certificates waits: there a cluster mounts the Secret that it has written.
func satisfyRotator() error {
	mounted := certificatesIn("/tmp")
	err := os.MkdirAll(mounted, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(mounted, "tls.crt"), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("making a file that the peer waits for: %w", err)
	}
	return nil
}

// apply applies the webhook configurations of the manifests.
func (w webhooks) apply(ctx context.Context, l *lab, folder string, rendered []byte) error {
	configurations, err := objectsOf(rendered, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	if err != nil {
		return err
	}
	var objects []unstructured.Unstructured
	for _, configuration := range configurations {
		if w.renamed {
			objects = append(objects, w.empty(configuration))
			configuration.SetName("lab-" + configuration.GetName())
		}
		if err := w.reach(configuration); err != nil {
			return err
		}
		objects = append(objects, configuration)
	}
	return l.applyAll(ctx, filepath.Join(folder, "webhooks.json"), objects)
}

// empty is the configuration without any webhook, for a peer that puts its own certificate into it.
func (w webhooks) empty(configuration unstructured.Unstructured) unstructured.Unstructured {
	var empty unstructured.Unstructured
	empty.SetGroupVersionKind(configuration.GroupVersionKind())
	empty.SetName(configuration.GetName())
	empty.SetLabels(map[string]string{peerLabel: w.peer})
	return empty
}

// reach makes the configuration lead to the peer's process.
func (w webhooks) reach(configuration unstructured.Unstructured) error {
	configuration.SetLabels(map[string]string{peerLabel: w.peer})
	hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("reading %s: %w", configuration.GetName(), err)
	}
	for _, hook := range hooks {
		hook, ok := hook.(map[string]any)
		if !ok {
			return fmt.Errorf("reading %s: a webhook is no object", configuration.GetName())
		}
		path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
		hook["clientConfig"] = map[string]any{"url": "https://" + local(w.port) + path, "caBundle": base64.StdEncoding.EncodeToString(w.certificate)}
	}
	return unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks")
}

// remove deletes the peer's configurations: without the peer each of its webhooks would refuse what it is asked about.
func (w webhooks) remove(ctx context.Context, l *lab) error {
	_, err := l.kubectl(ctx, "delete", "mutatingwebhookconfigurations,validatingwebhookconfigurations", "--selector="+peerLabel+"="+w.peer)
	return err
}
