//go:build e2e

package api_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/trainingjob/operator/test/api/schema"
)

// A typed list of jobs fails as a whole if one of them cannot be decoded.
func TestGoDecodesWhateverTheAPIServerTakes(t *testing.T) {
	root, err := schema.Root()
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := schema.Leaves(root)
	if err != nil {
		t.Fatal(err)
	}
	s := submitter{root: root, rest: restClient(t), namespace: namespace(t, nil)}
	create(t, job(t, s.namespace))
	together := map[string][]schema.Leaf{}
	for _, leaf := range leaves {
		where := leaf.Path[0]
		if slices.Contains(leaf.Path, "template") {
			where = "template"
		}
		together[where+" "+leaf.Kind()] = append(together[where+" "+leaf.Kind()], leaf)
	}
	for what, leaves := range together {
		t.Run(what, func(t *testing.T) {
			s.accepted = 0
			for _, value := range schema.Extremes() {
				if mayBe(leaves[0].Kind(), value) {
					s.submit(t, value, leaves)
				}
			}
			if s.accepted == 0 {
				t.Error("the API server accepts no value at all, so the test sees nothing")
			}
		})
	}
	t.Logf("%d requests", s.requests)
}

// mayBe saves requests: it reports whether the API server does not refuse the value at once because it has another type.
func mayBe(kind, value string) bool {
	isText := strings.HasPrefix(value, `"`)
	isNumber := strings.ContainsAny(value[:1], "-0123456789")
	switch kind {
	case "string/", "string/date-time":
		return !isNumber
	case "integer/int32", "integer/int64":
		return !isText
	case "boolean/":
		return !isText && !isNumber
	}
	return true
}

// submitter sends jobs by dry run.
type submitter struct {
	root      *schema.Props
	rest      rest.Interface
	namespace string
	requests  int
	accepted  int
}

// submit sends the value at all leaves in one job, without those that the API server refuses. If Go cannot decode what is accepted, each
// leaf is sent alone, to name it.
func (s *submitter) submit(t *testing.T, value string, leaves []schema.Leaf) {
	t.Helper()
	for len(leaves) > 0 {
		stored, err := s.send(t, value, leaves)
		if err == nil {
			s.accepted++
			err = schema.Decode(stored)
			if err == nil {
				return
			}
			if len(leaves) == 1 {
				t.Errorf("%s: the API server accepts %.80s: %v", leaves[0], value, err)
				return
			}
		} else if rest := notNamed(err, leaves); len(rest) < len(leaves) {
			leaves = rest
			continue
		} else if len(leaves) == 1 {
			return // refused by a rule about several fields
		}
		for _, leaf := range leaves {
			s.submit(t, value, []schema.Leaf{leaf})
		}
		return
	}
}

// send returns what the API server would store.
func (s *submitter) send(t *testing.T, value string, leaves []schema.Leaf) ([]byte, error) {
	t.Helper()
	s.requests++
	object := job(t, s.namespace, "metadata: {name: extreme}").Object
	request := s.rest.Post().SetHeader("Content-Type", "application/json")
	if leaves[0].Path[0] == "status" {
		object = map[string]any{}
		request = s.rest.Patch(types.MergePatchType).Name("good").SubResource("status")
	}
	for _, leaf := range leaves {
		leaf.Set(s.root, object, value)
	}
	if leaves[0].Path[0] == "status" {
		object = map[string]any{"status": object["status"]} // without the spec that the schema requires
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	answer := request.Prefix("apis/trainingjob.dev/v1alpha1").Namespace(s.namespace).Resource("trainingjobs").
		Param("dryRun", "All").Param("fieldValidation", "Ignore").Body(text).
		Do(t.Context())
	stored, _ := answer.Raw()
	return stored, answer.Error()
}

// notNamed returns the leaves that the refusal does not speak of.
func notNamed(err error, leaves []schema.Leaf) []schema.Leaf {
	var refusal apierrors.APIStatus
	if !errors.As(err, &refusal) || refusal.Status().Details == nil {
		return leaves
	}
	named := map[string]bool{}
	for _, cause := range refusal.Status().Details.Causes {
		named[cause.Field] = true
	}
	return slices.DeleteFunc(slices.Clone(leaves), func(leaf schema.Leaf) bool {
		field := strings.NewReplacer(".[]", "[0]", "{}", "Worker").Replace(leaf.String())
		return named[field]
	})
}

func restClient(t *testing.T) rest.Interface {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return server.RESTClient()
}
