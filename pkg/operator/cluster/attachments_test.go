package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	coschedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/builder"
)

// attachable are the kinds with the operator's labels that users may write.
var attachable = []client.Object{
	&corev1.Pod{}, &corev1.Service{},
	&schedulingv1beta1.PodGroup{}, &volcanov1beta1.PodGroup{}, &coschedulingv1alpha1.PodGroup{},
}

// attachTo returns an object of the kind with the operator's labels and a megabyte of attachments. They are owner references, and
// annotations of users and of the operator, as long as the API server accepts.
func attachTo(kind client.Object) client.Object {
	o := empty(kind)
	o.SetName("j-worker-@@@@")
	o.SetNamespace("team-a")
	o.SetUID("u-@@@@")
	o.SetResourceVersion("1")
	o.SetLabels(map[string]string{v1alpha1.LabelJobUID: "1", v1alpha1.LabelJobName: "j"})
	o.SetAnnotations(map[string]string{
		"note": strings.Repeat("x", 60_000), v1alpha1.AnnotationCheckpointRequest: strings.Repeat("a,", 30_000),
		v1alpha1.AnnotationInPlaceRestart: strings.Repeat("t", 60_000),
	})
	refs := []metav1.OwnerReference{*metav1.NewControllerRef(builder.Job("j"), v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	for n := range 7000 {
		refs = append(refs, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: strings.Repeat("n", 60), UID: types.UID(strconv.Itoa(n))})
	}
	o.SetOwnerReferences(refs)
	return o
}

// streaming is an API server that streams n objects of each watched kind, and then a bookmark. It lists metadata of pods in
// pages. It serves JSON only.
type streaming struct {
	n        int
	metadata string
	events   map[string]string // by path, of an object whose name and UID are @@@@
}

func (s *streaming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	event, query := s.events[r.URL.Path], r.URL.Query()
	switch {
	case query.Get("limit") != "":
		s.list(w, r, event != "")
	case event != "" && query.Get("sendInitialEvents") == "true":
		s.stream(w, r, event, s.events[r.URL.Path+"/end"])
	default:
		http.Error(w, "this server streams lists, or serves them in pages", http.StatusNotFound)
	}
}

// list returns a page of metadata; there are no jobs.
func (s *streaming) list(w io.Writer, r *http.Request, arePods bool) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	if !arePods {
		from = s.n
	}
	next := ""
	if to := from + limit; to < s.n {
		next = strconv.Itoa(to)
	}
	_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"continue":%q},"items":[`, next)
	for i := from; i < min(from+limit, s.n); i++ {
		if i > from {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = strings.NewReplacer("@@@@", strconv.Itoa(i)).WriteString(w, s.metadata)
	}
	_, _ = io.WriteString(w, "]}")
}

func (s *streaming) stream(w http.ResponseWriter, r *http.Request, event, bookmark string) {
	for i := range s.n {
		_, _ = strings.NewReplacer("@@@@", strconv.Itoa(i)).WriteString(w, event)
	}
	_, _ = io.WriteString(w, bookmark)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// eventOf returns an event of a watch as the API server sends it.
func eventOf(kind string, o client.Object) string {
	text, err := json.Marshal(map[string]any{"type": kind, "object": o})
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// newStreaming returns the server, and the mapper of all kinds.
func newStreaming(scheme *apiruntime.Scheme, n int) (*streaming, meta.RESTMapper) {
	s, mapper := &streaming{n: n, events: map[string]string{}}, meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	for _, kind := range attachable {
		gvks, _, err := scheme.ObjectKinds(kind)
		if err != nil {
			panic(err)
		}
		gvk := gvks[0]
		mapper.Add(gvk, meta.RESTScopeNamespace)
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		path := "/apis/" + gvk.GroupVersion().String() + "/" + resource.Resource
		if gvk.Group == "" {
			path = "/api/v1/" + resource.Resource
		}
		full, end := attachTo(kind), empty(kind)
		end.SetResourceVersion("1000000")
		end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		for _, o := range []client.Object{full, end} {
			o.GetObjectKind().SetGroupVersionKind(gvk)
		}
		s.events[path], s.events[path+"/end"] = eventOf("ADDED", full), eventOf("BOOKMARK", end)
	}
	pod := attachTo(&corev1.Pod{}).(*corev1.Pod)
	text, err := json.Marshal(&metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
	if err != nil {
		panic(err)
	}
	s.metadata = string(text)
	return s, mapper
}

func empty(kind client.Object) client.Object {
	return reflect.New(reflect.TypeOf(kind).Elem()).Interface().(client.Object)
}

// allKinds returns the kinds of the operator's scheme.
func allKinds(tb testing.TB) *apiruntime.Scheme {
	tb.Helper()
	scheme := apiruntime.NewScheme()
	for _, add := range []func(*apiruntime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, volcanov1beta1.AddToScheme, coschedulingv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			tb.Fatal(err)
		}
	}
	return scheme
}

// fill returns the operator's cache once it holds all objects that the API server streams.
func fill(tb testing.TB, url string, scheme *apiruntime.Scheme, mapper meta.RESTMapper) cache.Cache {
	tb.Helper()
	options, err := CacheOptions(nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	options.Scheme, options.Mapper = scheme, mapper
	all, err := cache.New(&rest.Config{Host: url}, options)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	for _, kind := range attachable {
		if _, err := all.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			tb.Fatal(err)
		}
	}
	go func() { _ = all.Start(ctx) }()
	wait, stop := context.WithTimeout(ctx, time.Hour)
	defer stop()
	if !all.WaitForCacheSync(wait) {
		tb.Fatal("the cache is not filled in time")
	}
	return all
}

// Attachments to objects with the operator's labels must not fill its memory: of some 0.9 MB in each a few kilobytes stay.
func TestWhatUsersAttachTakesNoMemory(t *testing.T) {
	const few, more, each = 2, 12, 10_000
	heapWith(t, few)                                        // tables of the decoders, which the process builds once
	grown := int(heapWith(t, more)) - int(heapWith(t, few)) // both contain the cost of the streams themselves
	if took := grown / ((more - few) * len(attachable)); took > each {
		t.Errorf("an object takes %d bytes, want at most %d", took, each)
	}
}

// heapWith returns the heap with a cache of n objects of each kind.
func heapWith(t *testing.T, n int) (bytes uint64) {
	t.Helper()
	t.Run(strconv.Itoa(n), func(t *testing.T) {
		scheme := allKinds(t)
		api, mapper := newStreaming(scheme, n)
		server := httptest.NewServer(api)
		t.Cleanup(server.Close)
		before := leastHeap() // the previous cache is released in the background
		all := fill(t, server.URL, scheme, mapper)
		bytes = leastHeap() - before
		runtime.KeepAlive(all)
	})
	return bytes
}

// leastHeap returns the heap without the memory that a stream holds briefly while it decodes.
func leastHeap() uint64 {
	least := heap()
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		least = min(least, heap())
	}
	return least
}

// serveAttachments is the variable that makes the test program such an API server, with so many objects of each kind.
const serveAttachments = "SERVE_ATTACHMENTS"

// TestServeAttachments is the API server of BenchmarkAttachments, in its own process: it prints its address and ends with its
// input.
func TestServeAttachments(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(serveAttachments))
	if err != nil {
		return
	}
	api, _ := newStreaming(allKinds(t), n)
	server := httptest.NewServer(api)
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// BenchmarkAttachments reports the largest resident memory of a process that becomes the leader, under the memory limit of the
// manifests. Its cache holds so many objects of each kind, each of 0.9 MB. It is the peak of the process, so run one at a time.
func BenchmarkAttachments(b *testing.B) {
	debug.SetMemoryLimit(920 << 20)
	debug.SetGCPercent(50) // as the operator does
	for _, n := range []int{200, 2000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			scheme := allKinds(b)
			_, mapper := newStreaming(scheme, 0)
			url := serveInAProcess(b, n)
			for b.Loop() {
				all := fill(b, url, scheme, mapper)
				takeOver(b, url, scheme, mapper)
				b.ReportMetric(float64(heap())/1e6, "heap-MB")
				runtime.KeepAlive(all)
			}
			b.ReportMetric(float64(peak(b))/1e3, "peak-RSS-MB")
		})
	}
}

// takeOver reads what a new leader reads.
func takeOver(tb testing.TB, url string, scheme *apiruntime.Scheme, mapper meta.RESTMapper) {
	tb.Helper()
	live, err := client.New(&rest.Config{Host: url}, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := New(nil, live, nil, clock.RealClock{}, Options{Parallel: Parallelism}).listAll(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// serveInAProcess starts TestServeAttachments and returns its address.
func serveInAProcess(tb testing.TB, n int) string {
	tb.Helper()
	server := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^TestServeAttachments$")
	server.Env = append(os.Environ(), serveAttachments+"="+strconv.Itoa(n))
	stdin, err := server.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = stdin.Close() })
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// peak returns the largest resident memory of this process so far, in kB.
func peak(tb testing.TB) int {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kB int
	if _, err := fmt.Sscan(line, &kB); err != nil {
		tb.Fatal(err)
	}
	return kB
}
