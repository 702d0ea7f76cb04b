package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/trainingjob/operator/test/lab/process"
)

// manifestPeer is a peer with one program, whose own manifests say what it may do and which webhooks it has. The lab applies those, but
// for the Deployment: the program is a process of this machine.
type manifestPeer struct {
	name, namespace string
	// manifests are folders below its Go module whose kustomizations install it.
	manifests []string
	// config is its configuration file; in it and in args a $NAME is a setting.
	config string
	args   []string
	// shipped and tuned are the settings of the two speeds.
	shipped, tuned settings
	// rotates is whether it insists on making a certificate of its own. It does so in vain: its webhooks here have the lab's.
	rotates bool
}

type settings map[string]string

//go:embed jobset.yaml
var jobSetConfig string

//go:embed lws.yaml
var lwsConfig string

//go:embed trainer.yaml
var trainerConfig string

func manifestPeers() []manifestPeer {
	byConfig := []string{"--config=$CONFIG", "--zap-log-level=$LOG"}
	return []manifestPeer{
		{
			name: "jobset", namespace: "jobset-system", manifests: []string{"config/default"}, config: jobSetConfig, args: byConfig,
			shipped: settings{"QPS": "500", "BURST": "500", "LOG": "2"},
			tuned:   settings{"QPS": "5000", "BURST": "5000", "LOG": "error"},
		},
		{
			name: "lws", namespace: "lws-system", manifests: []string{"config/default"}, config: lwsConfig, args: byConfig,
			shipped: settings{"QPS": "500", "BURST": "500", "LOG": "2"},
			tuned:   settings{"QPS": "5000", "BURST": "5000", "LOG": "error"},
		},
		{
			name: "trainer", namespace: "kubeflow-system", config: trainerConfig, args: byConfig,
			manifests: []string{"manifests/base/crds", "manifests/base/manager", "manifests/base/rbac", "manifests/base/webhook"},
			shipped:   settings{"QPS": "50", "BURST": "100", "THREADS": "5", "LOG": "2"},
			tuned:     settings{"QPS": "5000", "BURST": "5000", "THREADS": "16", "LOG": "error"},
		},
		{
			name: "training-operator", namespace: "kubeflow", manifests: []string{"manifests/overlays/standalone"}, rotates: true,
			args: []string{
				"--kube-api-qps=$QPS", "--kube-api-burst=$BURST", "--controller-threads=$THREADS", "--zap-log-level=$LOG",
				"--webhook-server-port=$WEBHOOK_PORT", "--health-probe-bind-address=127.0.0.1:$HEALTH_PORT", "--metrics-bind-address=0",
			},
			shipped: settings{"QPS": "20", "BURST": "30", "THREADS": "1", "LOG": "debug"},
			tuned:   settings{"QPS": "5000", "BURST": "5000", "THREADS": "8", "LOG": "error"},
		},
	}
}

func (p manifestPeer) processes() []string { return []string{p.name} }

// folder is where the lab keeps what belongs to the peer.
func (p manifestPeer) folder(d Dir) string { return d.file("peer-" + p.name) }

// install applies the peer's CRDs, its account and its rights.
func (p manifestPeer) install(ctx context.Context, l *lab, program program) error {
	rendered, err := p.render(ctx, l, program)
	if err != nil {
		return err
	}
	granted, err := readRights(rendered)
	if err != nil {
		return err
	}
	objects, err := objectsOf(rendered, "Secret")
	if err != nil {
		return err
	}
	objects = slices.Concat([]unstructured.Unstructured{namespaceObject(p.namespace)}, granted.objects, objects)
	if err := l.applyAll(ctx, filepath.Join(p.folder(l.dir), "rights.json"), objects); err != nil {
		return err
	}
	definitions, err := decodeCRDs(rendered)
	if err != nil {
		return err
	}
	return l.installDefinitions(ctx, definitions)
}

// render writes a kustomization of the peer's folders and returns what it makes.
func (p manifestPeer) render(ctx context.Context, l *lab, program program) ([]byte, error) {
	module, err := filepath.EvalSymlinks(program.module)
	if err != nil {
		return nil, fmt.Errorf("finding the module of %s: %w", p.name, err)
	}
	text := "namespace: " + p.namespace + "\nresources:\n"
	for _, manifest := range p.manifests {
		// A kustomization may name folders by relative paths only.
		path, err := filepath.Rel(p.folder(l.dir), filepath.Join(module, manifest))
		if err != nil {
			return nil, fmt.Errorf("finding the manifests of %s: %w", p.name, err)
		}
		text += "- " + path + "\n"
	}
	if err := os.MkdirAll(p.folder(l.dir), 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for %s: %w", p.name, err)
	}
	if err := os.WriteFile(filepath.Join(p.folder(l.dir), "kustomization.yaml"), []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("writing the kustomization of %s: %w", p.name, err)
	}
	return l.kubectl(ctx, "kustomize", p.folder(l.dir))
}

func (p manifestPeer) start(ctx context.Context, l *lab, program program, speed Speed, args []string) error {
	rendered, err := p.render(ctx, l, program)
	if err != nil {
		return err
	}
	granted, err := readRights(rendered)
	if err != nil {
		return err
	}
	client, err := l.dir.client()
	if err != nil {
		return err
	}
	kubeconfig, err := l.kubeconfigOf(ctx, client, granted.account.namespace, granted.account.name)
	if err != nil {
		return err
	}
	ports, err := l.state.Ports.more(2)
	if err != nil {
		return err
	}
	if p.rotates {
		if err := satisfyRotator(); err != nil {
			return err
		}
	}
	hooks := webhooks{peer: p.name, port: ports[1], renamed: p.rotates}
	if hooks.certificate, err = writeWebhookCertificate(p.folder(l.dir)); err != nil {
		return err
	}
	if err := hooks.apply(ctx, l, p.folder(l.dir), rendered); err != nil {
		return err
	}
	c, err := p.component(l.dir, program, kubeconfig, ports, speed)
	if err != nil {
		return err
	}
	c.Args = append(c.Args, args...)
	return l.start(ctx, c)
}

// component writes the peer's configuration and returns its process.
func (p manifestPeer) component(d Dir, program program, kubeconfig string, ports []int, speed Speed) (component, error) {
	folder := p.folder(d)
	chosen := map[Speed]settings{Shipped: p.shipped, Tuned: p.tuned}[speed]
	values := settings{
		"CONFIG": filepath.Join(folder, "config.yaml"), "CERTIFICATES": certificatesIn(folder),
		"HEALTH_PORT": fmt.Sprint(ports[0]), "WEBHOOK_PORT": fmt.Sprint(ports[1]),
	}
	expand := func(text string) string {
		return os.Expand(text, func(name string) string { return values[name] + chosen[name] })
	}
	if err := os.WriteFile(values["CONFIG"], []byte(expand(p.config)), 0o644); err != nil {
		return component{}, fmt.Errorf("writing the configuration of %s: %w", p.name, err)
	}
	args := []string{"--kubeconfig=" + kubeconfig}
	for _, arg := range p.args {
		args = append(args, expand(arg))
	}
	return component{
		Program: process.Program{
			Name: p.name, Path: program.binary, Args: args, Log: d.file(p.name + ".log"),
			// Below it is the folder for certificates of the webhook servers that have no setting for that.
			Env: []string{"TMPDIR=" + folder},
		},
		health: process.Health{URL: "http://" + local(ports[0]) + "/readyz", Within: startTime},
	}, nil
}

func (p manifestPeer) stop(ctx context.Context, l *lab) error {
	if p.rotates {
		if err := os.RemoveAll(filepath.Dir(certificatesIn("/tmp"))); err != nil {
			return fmt.Errorf("removing the certificate of %s: %w", p.name, err)
		}
	}
	return webhooks{peer: p.name}.remove(ctx, l)
}

func namespaceObject(name string) unstructured.Unstructured {
	var namespace unstructured.Unstructured
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	namespace.SetName(name)
	return namespace
}
