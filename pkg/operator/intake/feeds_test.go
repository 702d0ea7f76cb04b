package intake

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/operator/intake/sieve"
)

// jobFeed is a feed of jobs whose answers a test makes.
type jobFeed struct {
	feeds *Feeds
	clock *testclock.FakeClock
	t     *testing.T
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

const kindOfJobs = "TrainingJob.trainingjob.dev"

func newJobFeed(t *testing.T) *jobFeed {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC))
	f := &jobFeed{NewFeeds(scheme(t), clock), clock, t}
	f.feeds.NewInformer(&cache.ListWatch{}, &v1alpha1.TrainingJob{}, 0, nil)
	return f
}

// wants fails the test unless the readiness says the words; empty for ready.
func (f *jobFeed) wants(words string) {
	f.t.Helper()
	err := f.feeds.Ready(nil)
	if (words == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), words) {
		f.t.Errorf("ready: %v, want %q", err, words)
	}
}

func TestAProcessThatCannotSeeAKindIsNotReady(t *testing.T) {
	f := newJobFeed(t)
	refused := errors.New("json: cannot unmarshal number")
	f.wants("TrainingJob.trainingjob.dev: the first list is not complete yet")
	f.feeds.listed(t.Context(), kindOfJobs, refused)
	f.wants("TrainingJob.trainingjob.dev: list or watch has failed for 0s: json: cannot unmarshal number")
	f.feeds.listed(t.Context(), kindOfJobs, nil)
	f.wants("")
	f.feeds.failed(t.Context(), kindOfJobs, refused)
	f.clock.Step(59 * time.Second)
	f.feeds.failed(t.Context(), kindOfJobs, refused)
	f.wants("")
	f.clock.Step(time.Second)
	f.wants("TrainingJob.trainingjob.dev: list or watch has failed for 1m0s")
	f.feeds.listed(t.Context(), kindOfJobs, nil)
	f.wants("")
}

func TestTheEventsBeforeTheEndOfTheInitialOnesShowNothing(t *testing.T) {
	f := newJobFeed(t)
	isInitial := true
	f.feeds.received(kindOfJobs, watch.Event{Type: watch.Added, Object: &v1alpha1.TrainingJob{}}, &isInitial)
	f.wants("not complete yet")
	end := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	f.feeds.received(kindOfJobs, watch.Event{Type: watch.Bookmark, Object: end}, &isInitial)
	f.wants("")
}

func TestAKindThatIsGoneBlindsNothing(t *testing.T) {
	f := newJobFeed(t)
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "trainingjobs"}, "")
	f.feeds.failed(t.Context(), kindOfJobs, gone)
	f.clock.Step(time.Hour)
	f.wants("")
}

func TestTheEndOfAProcessIsNoFailure(t *testing.T) {
	f := newJobFeed(t)
	ended, end := context.WithCancel(t.Context())
	end()
	f.feeds.listed(t.Context(), kindOfJobs, nil)
	f.feeds.failed(ended, kindOfJobs, context.Canceled)
	f.clock.Step(time.Hour)
	f.wants("")
}

// TestAnInformerIsRecorded: the way from the informer's own list and watch to what is recorded.
func TestAnInformerIsRecorded(t *testing.T) {
	f := newJobFeed(t)
	stream := watch.NewFake()
	informer := f.feeds.NewInformer(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &v1alpha1.TrainingJobList{}, nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil) // an API server that cannot stream its lists
			}
			return stream, nil
		},
	}, &v1alpha1.TrainingJob{}, 0, nil)
	arrived := make(chan struct{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { close(arrived) }}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	f.wants("")
	f.clock.Step(time.Minute)
	stream.Add(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"}})
	<-arrived
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(Collector{f.feeds, sieve.New(scheme(t), nil)})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		metric := family.GetMetric()[0]
		got[family.GetName()+" "+metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
	}
	want := map[string]float64{
		"trainingjob_undecodable_objects " + kindOfJobs: 0,
		"trainingjob_watch_age_seconds " + kindOfJobs:   0,
		"trainingjob_watch_errors_total " + kindOfJobs:  1, // of the streamed list
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
