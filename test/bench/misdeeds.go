package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

// loudJobs are how many jobs the tenant has whose pods change all the time, of two pods each.
const loudJobs = 32

// misdeed is a way to misbehave. It has begun when begin returns, and ends with the context; the bench removes the jobs.
type misdeed struct {
	name  string
	begin func(ctx context.Context, loud *bench, t tenantOptions) error
}

var misdeeds = []misdeed{
	{"a webhook that hangs", func(ctx context.Context, b *bench, t tenantOptions) error { return b.hang(ctx, t.hanging) }},
	{"a storm of changes of pods", func(ctx context.Context, b *bench, t tenantOptions) error { return b.stormPods(ctx, t.rate) }},
	{"a large job that starts", func(ctx context.Context, b *bench, t tenantOptions) error { return b.startLarge(ctx, t.large) }},
}

// startLarge submits one job of so many replicas, and waits for its first pods.
func (b *bench) startLarge(ctx context.Context, replicas int) error {
	b.another()
	if err := b.client.Create(ctx, b.trainingJob("large", 0, shape{1, replicas})); err != nil {
		return err
	}
	return b.awaitBegun(ctx, 1)
}

// stormPods annotates pods of running jobs, so many times a second: the operator hears of each change.
func (b *bench) stormPods(ctx context.Context, rate int) error {
	if err := b.runLoud(ctx, func(*v1alpha1.TrainingJob) {}); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := b.client.List(ctx, &pods, client.InNamespace(b.namespace)); err != nil {
		return err
	}
	b.storm(ctx, rate, func(i int) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"bench.trainingjob.dev/turn":"%d"}}}`, i)
		return b.client.Patch(ctx, pods.Items[i%len(pods.Items)].DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	})
	return nil
}

// runLoud starts the jobs of the tenant and waits until they run.
func (b *bench) runLoud(ctx context.Context, change func(*v1alpha1.TrainingJob)) error {
	b.another()
	running, err := b.watchRunning(ctx)
	if err != nil {
		return err
	}
	defer running.Stop()
	s := shape{loudJobs, 2}
	err = eachJob(s, func(i int) error {
		job := b.trainingJob("loud", i, s)
		change(job)
		return b.client.Create(ctx, job)
	})
	if err != nil {
		return err
	}
	return awaitRunning(ctx, running, s.jobs*s.pods)
}

// storm does so with rising numbers, so many times a second, until the context ends. What fails is tried again with the next number.
func (b *bench) storm(ctx context.Context, rate int, do func(i int) error) {
	numbers := make(chan int)
	go func() {
		defer close(numbers)
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				select {
				case numbers <- i:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	for range byHandParallel {
		go func() {
			for i := range numbers {
				_ = do(i) // the storm's own failures are of no interest
			}
		}()
	}
}

// hang has the creation of every pod of the namespace wait for a webhook that does not answer, and submits jobs.
func (b *bench) hang(ctx context.Context, jobs int) error {
	url, certificate, err := serveNothing(ctx)
	if err != nil {
		return err
	}
	none := admissionv1.SideEffectClassNone
	configuration := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "bench-hangs"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "hangs.bench.trainingjob.dev", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none, TimeoutSeconds: ptr.To[int32](30),
		FailurePolicy:     ptr.To(admissionv1.Fail),
		ClientConfig:      admissionv1.WebhookClientConfig{URL: &url, CABundle: certificate},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}},
		Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}},
	}}}
	if err := b.client.Create(ctx, configuration); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() {
		if err := b.client.Delete(context.WithoutCancel(ctx), configuration); err != nil {
			fmt.Println("bench:", err)
		}
	})
	b.another()
	s := shape{jobs, 4}
	return eachJob(s, func(i int) error { return b.client.Create(ctx, b.trainingJob("hangs", i, s)) })
}

// serveNothing returns the address and the certificate of a server that answers nobody until the context ends.
func serveNothing(ctx context.Context) (url string, certificate []byte, err error) {
	const host = "127.0.0.1"
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return "", nil, fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return "", nil, fmt.Errorf("making a certificate: %w", err)
	}
	listener, err := tls.Listen("tcp", host+":0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ctx.Done():
		}
	})}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "https://" + listener.Addr().String(), certificate, nil
}
