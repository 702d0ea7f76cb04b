package sieve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, volcanov1beta1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// job returns a job as the API server sends it. With a port that no int32 holds Go cannot decode it.
func job(name string, port string) string {
	return fmt.Sprintf(`{"apiVersion":"trainingjob.dev/v1alpha1","kind":"TrainingJob","metadata":{"name":%q,"namespace":"n","uid":"uid-%[1]s","resourceVersion":"7"},`+
		`"spec":{"replicaSpecs":{"Worker":{"template":{"spec":{"containers":[{"name":"c","livenessProbe":{"httpGet":{"port":%[2]s}}}]}}}}}}`, name, port)
}

const (
	good = "8080"
	bad  = "99999999999"
)

// group returns a pod group of Volcano with a quantity that no one can parse.
const group = `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":"g","namespace":"n","uid":"uid-g"},"spec":{"minResources":{"cpu":"1E1.5"}}}`

// list returns a list of the kind, in the order of fields in which the API server writes them.
func list(kind, metadata string, items ...string) string {
	return `{"apiVersion":"v1","items":[` + strings.Join(items, ",") + `],"kind":"` + kind + `","metadata":{` + metadata + `}}`
}

// answering returns a sieve and a transport behind it that answers with the body, whatever is asked.
func answering(t *testing.T, answer *string) (*Sieve, *rest.Config) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, *answer)
	}))
	t.Cleanup(server.Close)
	sieve := New(scheme(t), nil)
	config := &rest.Config{Host: server.URL}
	config.Wrap(sieve.Wrap)
	return sieve, config
}

// memory returns a job that remembers this.
func memory(name, remembered string) string {
	return fmt.Sprintf(`{"apiVersion":"trainingjob.dev/v1alpha1","kind":"TrainingJob","metadata":{"name":%q,"namespace":"n","uid":"uid-%[1]s"},`+
		`"status":{"memory":%[2]s}}`, name, remembered)
}

// get returns the sieved body of an answer.
func get(t *testing.T, config *rest.Config, path string) (string, error) {
	t.Helper()
	direct, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := direct.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// names returns what is skipped.
func names(s *Sieve) []string {
	var all []string
	for _, o := range s.Skipped() {
		all = append(all, o.KindName()+" "+o.Namespace+"/"+o.Name)
	}
	return all
}

// itemsOf returns the names of a list's items.
func itemsOf(t *testing.T, body string) []string {
	t.Helper()
	var l struct {
		Items []metav1.PartialObjectMetadata
	}
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var all []string
	for i := range l.Items {
		all = append(all, l.Items[i].Name)
	}
	return all
}

func TestAListLacksOnlyWhatGoCannotDecode(t *testing.T) {
	for name, c := range map[string]struct {
		items         []string
		want, skipped []string
	}{
		"nothing in it":     {nil, nil, nil},
		"all of it is good": {[]string{job("a", good), job("b", good)}, []string{"a", "b"}, nil},
		"the first is bad":  {[]string{job("a", bad), job("b", good)}, []string{"b"}, []string{"TrainingJob.trainingjob.dev n/a"}},
		"the last is bad":   {[]string{job("a", good), job("b", bad)}, []string{"a"}, []string{"TrainingJob.trainingjob.dev n/b"}},
		"all of it is bad":  {[]string{job("a", bad), job("b", bad)}, nil, []string{"TrainingJob.trainingjob.dev n/a", "TrainingJob.trainingjob.dev n/b"}},
		"a memory is bad": {[]string{memory("a", `{"redoStep":"far"}`), memory("b", `{"new":[1]}`), job("c", good)}, []string{"b", "c"},
			[]string{"TrainingJob.trainingjob.dev n/a"}},
		"a kind of someone else": {[]string{group}, nil, []string{"PodGroup.scheduling.volcano.sh n/g"}},
		"a kind without a type":  {[]string{`{"apiVersion":"x.dev/v1","kind":"X","metadata":{"name":"x"}}`}, []string{"x"}, nil},
		"items without a kind":   {[]string{`{"metadata":{"name":"p"}}`}, []string{"p"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			answer := list("SomeList", `"resourceVersion":"9"`, c.items...)
			sieve, config := answering(t, &answer)
			body, err := get(t, config, "/apis/x")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, itemsOf(t, body)); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skipped, names(sieve)); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsGoodPassesUnchanged(t *testing.T) {
	for name, answer := range map[string]string{
		"a list":               list("TrainingJobList", `"continue":"x","resourceVersion":"9"`, job("a", good)),
		"items before nothing": `{"items":[]}`,
		"no items":             `{"items":null,"kind":"TrainingJobList"}`,
		"an object":            job("a", good),
		"an empty object":      `{}`,
		"odd characters":       `{"a\"b\\":"\u003c<é","items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, config := answering(t, &answer)
			body, err := get(t, config, "/apis/x")
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := json.Unmarshal([]byte(answer), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAnswerThatBreaksOffIsAnError(t *testing.T) {
	whole := list("TrainingJobList", `"resourceVersion":"9"`, job("a", good), job("b", bad))
	answer := ""
	_, config := answering(t, &answer)
	for n := range len(whole) {
		answer = whole[:n]
		if _, err := get(t, config, "/apis/x"); n > 0 && err == nil {
			t.Fatalf("%d of %d bytes: no error", n, len(whole))
		}
	}
}

// TestATypedClientReadsOn: the promise, with the client that users of the package have.
func TestATypedClientReadsOn(t *testing.T) {
	answer := strings.Replace(list("TrainingJobList", `"resourceVersion":"9"`, job("a", bad), job("b", good)), `"v1"`, `"trainingjob.dev/v1alpha1"`, 1)
	var told []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := answer
		if r.URL.Path == "/apis/trainingjob.dev/v1alpha1" {
			body = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"trainingjob.dev/v1alpha1","resources":[{"name":"trainingjobs","singularName":"trainingjob","namespaced":true,"kind":"TrainingJob","verbs":["list"]}]}`
		} else if !strings.HasSuffix(r.URL.Path, "trainingjobs") {
			body = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"trainingjob.dev","versions":[{"groupVersion":"trainingjob.dev/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"trainingjob.dev/v1alpha1","version":"v1alpha1"}}]}`
		}
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	s := scheme(t)
	sieve := New(s, func(o Skipped) { told = append(told, o.String()) })
	for wrapped, want := range map[bool]int{false: -1, true: 1} {
		config := &rest.Config{Host: server.URL}
		if wrapped {
			config.Wrap(sieve.Wrap)
		}
		kube, err := client.New(config, client.Options{Scheme: s})
		if err != nil {
			t.Fatal(err)
		}
		var jobs v1alpha1.TrainingJobList
		err = kube.List(context.Background(), &jobs)
		switch {
		case want < 0 && err == nil:
			t.Error("without the sieve the list is decoded: the test shows nothing")
		case want >= 0 && (err != nil || len(jobs.Items) != want):
			t.Errorf("%d jobs, %v", len(jobs.Items), err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "TrainingJob.trainingjob.dev n/a, which cannot be decoded") || !strings.Contains(told[0], bad) {
		t.Errorf("told: %q", told)
	}
}

// events returns a watch's events as the API server writes them.
func events(pairs ...[2]string) string {
	var text strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&text, `{"type":%q,"object":%s}`+"\n", p[0], p[1])
	}
	return text.String()
}

const endOfInitial = `{"apiVersion":"trainingjob.dev/v1alpha1","kind":"TrainingJob","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`

func TestAWatchGoesOnAfterWhatGoCannotDecode(t *testing.T) {
	status := `{"apiVersion":"v1","kind":"Status","status":"Failure","code":410}`
	for name, c := range map[string]struct {
		events  string
		want    []string
		skipped []string
	}{
		"a bad one is added":                  {events([2]string{"ADDED", job("a", bad)}, [2]string{"ADDED", job("b", good)}), []string{"DELETED a 7", "ADDED b 7"}, []string{"TrainingJob.trainingjob.dev n/a"}},
		"a good one turns bad":                {events([2]string{"ADDED", job("a", good)}, [2]string{"MODIFIED", job("a", bad)}), []string{"ADDED a 7", "DELETED a 7"}, []string{"TrainingJob.trainingjob.dev n/a"}},
		"a bad one turns good":                {events([2]string{"ADDED", job("a", bad)}, [2]string{"MODIFIED", job("a", good)}), []string{"DELETED a 7", "MODIFIED a 7"}, nil},
		"a bad one is deleted":                {events([2]string{"ADDED", job("a", bad)}, [2]string{"DELETED", job("a", bad)}), []string{"DELETED a 7", "DELETED a 7"}, nil},
		"an error ends it":                    {events([2]string{"ERROR", status}), []string{"ERROR  "}, nil},
		"a bookmark passes":                   {events([2]string{"BOOKMARK", endOfInitial}), []string{"BOOKMARK  9"}, nil},
		"a bad one before the initial end is": {events([2]string{"ADDED", job("a", bad)}, [2]string{"BOOKMARK", endOfInitial}), []string{"DELETED a 7", "BOOKMARK  9"}, []string{"TrainingJob.trainingjob.dev n/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			sieve, config := answering(t, &c.events)
			body, err := get(t, config, "/apis/x?watch=true&sendInitialEvents=true")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for decoder := json.NewDecoder(strings.NewReader(body)); ; {
				var e struct {
					Type   string
					Object metav1.PartialObjectMetadata
				}
				if err := decoder.Decode(&e); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.Join([]string{e.Type, e.Object.Name, e.Object.ResourceVersion}, " "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skipped, names(sieve)); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsGoneIsNoLongerSkipped(t *testing.T) {
	bads := []string{"TrainingJob.trainingjob.dev n/a"}
	for name, c := range map[string]struct {
		path, answer string
		want         []string
	}{
		"a whole list without it":     {"/jobs", list("L", ""), nil},
		"a first page without it":     {"/jobs", list("L", `"continue":"more"`), bads},
		"a later page without it":     {"/jobs?continue=more", list("L", ""), bads},
		"a list of something else":    {"/pods", list("L", ""), bads},
		"a whole list with it":        {"/jobs", list("L", "", job("a", bad)), bads},
		"a watch that begins anew":    {"/jobs?watch=1&sendInitialEvents=true", events([2]string{"BOOKMARK", endOfInitial}), nil},
		"a watch that goes on":        {"/jobs?watch=1", events([2]string{"BOOKMARK", endOfInitial}), bads},
		"a list in which it is good":  {"/jobs", list("L", "", job("a", good)), nil},
		"a page in which it is good":  {"/jobs?continue=more", list("L", "", job("a", good)), nil},
		"an answer that is no object": {"/jobs", `[]`, bads},
	} {
		t.Run(name, func(t *testing.T) {
			answer := list("L", "", job("a", bad))
			sieve, config := answering(t, &answer)
			if _, err := get(t, config, "/jobs"); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names(sieve), bads) {
				t.Fatalf("at first: %v", names(sieve))
			}
			answer = c.answer
			_, _ = get(t, config, c.path)
			if diff := cmp.Diff(c.want, names(sieve)); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}
