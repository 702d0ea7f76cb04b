package replay

import (
	"context"
	"net/http"
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/intake"
)

// watcher is the operator's cache before a server that sends recorded events.
type watcher struct {
	*server
	*recorder
	cache.Cache
	pods int
	// awaited are the events that were sent and have not reached the handlers.
	awaited sync.WaitGroup
	events  int
	end     func()
}

func newWatcher(tb testing.TB, pods int) *watcher {
	tb.Helper()
	log.SetLogger(logr.Discard())
	w := &watcher{server: newServer(), recorder: newRecorder(tb, pods), pods: pods}
	known := apiruntime.NewScheme()
	must(tb, scheme.AddToScheme(known))
	must(tb, v1alpha1.AddToScheme(known))
	guard := intake.New(known, logr.Discard())
	options, err := cluster.CacheOptions(nil, nil)
	must(tb, err)
	options.Scheme, options.HTTPClient = known, &http.Client{Transport: guard.Wrap(w.server)}
	options.NewInformer = guard.NewInformer
	options.Mapper = mapper()
	w.Cache, err = cache.New(&rest.Config{Host: "http://cluster"}, options)
	must(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	must(tb, cluster.Index(ctx, w.Cache))
	informer, err := w.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	must(tb, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.awaited.Done() }, UpdateFunc: func(any, any) { w.awaited.Done() }, DeleteFunc: func(any) { w.awaited.Done() },
	})
	must(tb, err)
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	w.end = func() {
		stop()
		_ = w.watched.Close()
		must(tb, <-ended)
	}
	must(tb, w.begin(tb))
	if !w.WaitForCacheSync(ctx) {
		tb.Fatal("the cache does not begin")
	}
	return w
}

// mapper knows the kinds that the cache's options name.
func mapper() meta.RESTMapper {
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(podKind, meta.RESTScopeNamespace)
	known.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind), meta.RESTScopeNamespace)
	known.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return known
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// show sends the frames for all pods and waits until the handlers have seen them.
func (w *watcher) show(frames []frame) {
	w.tb.Helper()
	w.awaited.Add(len(frames) * w.pods)
	w.events += len(frames) * w.pods
	must(w.tb, w.send(frames, w.pods))
	w.awaited.Wait()
}

// replay plays the job once: it starts, restarts as a whole with new pods, and ends. At rest is called when the new pods run.
func (w *watcher) replay(atRest func()) {
	w.tb.Helper()
	first, second := w.record(state.Life{}), w.record(state.Life{Attempt: 1})
	w.show(first.start)
	w.show(first.stop)
	w.show(second.start)
	atRest()
	w.show(second.stop)
}

func TestAReplayFillsTheCacheAndEmptiesIt(t *testing.T) {
	const pods = 20
	w := newWatcher(t, pods)
	defer w.end()
	var held corev1.PodList
	for range 2 {
		w.replay(func() { must(t, w.List(t.Context(), &held, client.InNamespace(w.job.Namespace))) })
		if len(held.Items) != pods {
			t.Fatalf("at rest there are %d pods, want %d", len(held.Items), pods)
		}
		nodes := map[string]bool{}
		for _, pod := range held.Items {
			nodes[pod.Spec.NodeName] = true
			if pod.Status.Phase != corev1.PodRunning || pod.ManagedFields != nil || len(pod.Spec.Volumes) > 0 {
				t.Errorf("the cache has not trimmed the last version of %s: %v", pod.Name, pod)
			}
		}
		if len(nodes) != pods {
			t.Errorf("the pods are on %d nodes, want %d: all slots are recorded alike", len(nodes), pods)
		}
		must(t, w.List(t.Context(), &held))
		if len(held.Items) != 0 {
			t.Errorf("%d pods are left", len(held.Items))
		}
	}
}

// BenchmarkReplay reports what the events of a job of 10,000 pods cost that is played six times, the making of the frames included.
func BenchmarkReplay(b *testing.B) {
	const pods, times = 10_000, 6
	for b.Loop() {
		w := newWatcher(b, pods)
		before, cpu, allocated, begin := heap(), cpuTime(b), allocatedBytes(), time.Now()
		highest := watchHeap()
		var atRest uint64
		for i := range times {
			w.replay(func() {
				if i == times-1 {
					atRest = heap()
				}
			})
		}
		each := func(total float64, unit string) { b.ReportMetric(total/float64(w.events), unit+"/event") }
		each(float64(time.Since(begin)), "ns")
		each(float64(cpuTime(b)-cpu), "cpu-ns")
		each(float64(w.bytes), "sent-B")
		each(float64(allocatedBytes()-allocated), "alloc-B")
		b.ReportMetric(float64(highest())/1e6, "peak-heap-MB")
		b.ReportMetric(float64(atRest-before)/pods, "heap-B/pod")
		w.end()
	}
}

// cpuTime returns what this process has used.
func cpuTime(tb testing.TB) time.Duration {
	var used syscall.Rusage
	must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// heap returns what is reachable. What pools hold is taken at the second collection only.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func allocatedBytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// watchHeap looks at the heap, garbage included, until the returned function is called, which returns the most that it was.
func watchHeap() func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	var most uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			metrics.Read(sample)
			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-ended
		return most
	}
}
