package build_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/build"
	"github.com/trainingjob/operator/pkg/state"
	"github.com/trainingjob/operator/test/builder"
)

const (
	notReady    = corev1.TaintNodeNotReady
	unreachable = corev1.TaintNodeUnreachable
)

// podWith returns the spec of the pod whose template has that change, off the nodes.
func podWith(change func(*corev1.PodSpec), avoided ...string) *corev1.PodSpec {
	job := builder.Job("j", builder.Workers(1, builder.Template(func(template *corev1.PodTemplateSpec) { change(&template.Spec) })))
	return &build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, state.Avoided{Required: avoided}).Spec
}

func TestBrokenNodesAreToleratedBriefly(t *testing.T) {
	brief, long := int64(30), int64(3600)
	own := func(key string, effect corev1.TaintEffect, seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect, TolerationSeconds: seconds}
	}
	injected := func(key string) corev1.Toleration { return own(key, corev1.TaintEffectNoExecute, &brief) }
	cases := []struct {
		name  string
		own   []corev1.Toleration
		added []corev1.Toleration
	}{
		{"a template that says nothing of them", nil, []corev1.Toleration{injected(notReady), injected(unreachable)}},
		{"one that tolerates something else", []corev1.Toleration{own("gpu", "", nil)}, []corev1.Toleration{injected(notReady), injected(unreachable)}},
		{"one that tolerates one of them for longer", []corev1.Toleration{own(notReady, corev1.TaintEffectNoExecute, &long)}, []corev1.Toleration{injected(unreachable)}},
		{"one that tolerates one of them in every effect", []corev1.Toleration{own(unreachable, "", nil)}, []corev1.Toleration{injected(notReady)}},
		{"one that tolerates everything", []corev1.Toleration{own("", "", nil)}, nil},
		{"one that tolerates everything that evicts", []corev1.Toleration{own("", corev1.TaintEffectNoExecute, &long)}, nil},
		{"one that only schedules onto them", []corev1.Toleration{own(notReady, corev1.TaintEffectNoSchedule, nil)},
			[]corev1.Toleration{injected(notReady), injected(unreachable)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := podWith(func(spec *corev1.PodSpec) { spec.Tolerations = c.own }).Tolerations
			if diff := cmp.Diff(append(c.own, c.added...), got); diff != "" {
				t.Errorf("tolerations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAvoidedNodes(t *testing.T) {
	off := func(nodes ...string) []corev1.NodeSelectorRequirement {
		var list []corev1.NodeSelectorRequirement
		for _, node := range nodes {
			list = append(list, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}})
		}
		return list
	}
	gpu := []corev1.NodeSelectorRequirement{{Key: "gpu", Operator: corev1.NodeSelectorOpExists}}
	one := []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}}
	terms := func(terms ...corev1.NodeSelectorTerm) *corev1.NodeSelector {
		return &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: gpu}}}
	pods := &corev1.PodAntiAffinity{}
	nodeAffinity := func(required *corev1.NodeSelector) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	cases := []struct {
		name     string
		affinity *corev1.Affinity
		avoided  []string
		want     *corev1.Affinity
	}{
		{"no node: the affinity is left alone", nodeAffinity(terms(corev1.NodeSelectorTerm{MatchExpressions: gpu})), nil,
			nodeAffinity(terms(corev1.NodeSelectorTerm{MatchExpressions: gpu}))},
		{"no node and no affinity: none is made", nil, nil, nil},
		{"each node is a requirement of its own", nil, []string{"a", "b"}, nodeAffinity(terms(corev1.NodeSelectorTerm{MatchFields: off("a", "b")}))},
		{"affinity of other kinds stays", &corev1.Affinity{PodAntiAffinity: pods, NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
			[]string{"a"}, &corev1.Affinity{PodAntiAffinity: pods, NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: preferred, RequiredDuringSchedulingIgnoredDuringExecution: terms(corev1.NodeSelectorTerm{MatchFields: off("a")})}}},
		{"every one of the template's terms avoids", nodeAffinity(terms(corev1.NodeSelectorTerm{MatchExpressions: gpu}, corev1.NodeSelectorTerm{MatchFields: one})), []string{"b"},
			nodeAffinity(terms(corev1.NodeSelectorTerm{MatchExpressions: gpu, MatchFields: off("b")}, corev1.NodeSelectorTerm{MatchFields: append(one, off("b")...)}))},
		{"a term that fits no node still fits none", nodeAffinity(terms(corev1.NodeSelectorTerm{}, corev1.NodeSelectorTerm{MatchExpressions: gpu})), []string{"b"},
			nodeAffinity(terms(corev1.NodeSelectorTerm{}, corev1.NodeSelectorTerm{MatchExpressions: gpu, MatchFields: off("b")}))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			own := c.affinity.DeepCopy()
			spec := podWith(func(spec *corev1.PodSpec) { spec.Affinity = c.affinity }, c.avoided...)
			if diff := cmp.Diff(c.want, spec.Affinity); diff != "" {
				t.Errorf("affinity (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(own, c.affinity); diff != "" {
				t.Errorf("the job's template has changed:\n%s", diff)
			}
			checkPlacement(t, spec)
		})
	}
}

// What a pod excludes is in an annotation as well, as the operator's cache does not hold affinity. A template cannot say it.
func TestAPodSaysWhichNodesItExcludes(t *testing.T) {
	claims := func(template *corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{v1alpha1.AnnotationAvoidedNodes: "good"}
	}
	job := builder.Job("j", builder.Workers(1, builder.Template(claims)))
	one := corev1.PreferredSchedulingTerm{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"c"}}}}}
	for want, avoided := range map[string]state.Avoided{
		"":    {Preferred: []string{"c"}},
		"a,b": {Required: []string{"a", "b"}, Preferred: []string{"c"}},
	} {
		pod := build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, avoided)
		if got := pod.Annotations[v1alpha1.AnnotationAvoidedNodes]; got != want {
			t.Errorf("the annotation says %q, want %q", got, want)
		}
		affinity := pod.Spec.Affinity.NodeAffinity
		if isExcluding := affinity.RequiredDuringSchedulingIgnoredDuringExecution != nil; isExcluding != (want != "") {
			t.Errorf("required affinity %v, want that of %q", affinity.RequiredDuringSchedulingIgnoredDuringExecution, want)
		}
		if diff := cmp.Diff([]corev1.PreferredSchedulingTerm{one}, affinity.PreferredDuringSchedulingIgnoredDuringExecution); diff != "" {
			t.Errorf("preferred affinity (-want +got):\n%s", diff)
		}
	}
	if got := build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, state.Avoided{}).Annotations; len(got) > 0 {
		t.Errorf("a job that avoids no node has pods with %v", got)
	}
}

// checkPlacement holds a pod's tolerations and node affinity against the rules of the API server.
// Source: ValidateTolerations and ValidateNodeFieldSelectorRequirement in k8s.io/kubernetes/pkg/apis/core/validation.
func checkPlacement(t *testing.T, spec *corev1.PodSpec) {
	t.Helper()
	for _, toleration := range spec.Tolerations {
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			t.Errorf("toleration of %s: seconds are for effect NoExecute only", toleration.Key)
		}
		if toleration.Key == "" && toleration.Operator != corev1.TolerationOpExists {
			t.Errorf("a toleration without key has operator %q", toleration.Operator)
		}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, r := range term.MatchFields {
			isNode := r.Key == "metadata.name" && (r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn)
			if !isNode || len(r.Values) != 1 || len(validation.IsDNS1123Subdomain(r.Values[0])) > 0 {
				t.Errorf("the API server refuses the field requirement %v", r)
			}
		}
	}
}

// A template that names its nodes wants those and no other: to avoid them all would leave the pod none. An affinity that its own node
// does not match the kubelet turns away, again and again.
func TestATemplateThatNamesItsNodesGetsOneOfThem(t *testing.T) {
	in := func(key string, nodes ...string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: nodes}}
	}
	affinity := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	hostname := corev1.LabelHostname
	cases := []struct {
		name    string
		change  func(*corev1.PodSpec)
		avoided []string
		named   []string // those of the nodes a, b and c that are left
	}{
		{"nodeName", func(s *corev1.PodSpec) { s.NodeName = "a" }, []string{"a"}, []string{"a", "b", "c"}},
		{"nodeName of another", func(s *corev1.PodSpec) { s.NodeName = "a" }, []string{"b"}, []string{"a", "c"}},
		{"a selector by host name", func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{hostname: "a"} }, []string{"a", "b"}, []string{"a", "b", "c"}},
		{"an affinity by name", func(s *corev1.PodSpec) {
			s.Affinity = affinity(corev1.NodeSelectorTerm{MatchFields: in("metadata.name", "a")})
		},
			[]string{"a"}, []string{"a"}},
		{"an affinity by host names, one of them well", func(s *corev1.PodSpec) {
			s.Affinity = affinity(corev1.NodeSelectorTerm{MatchExpressions: in(hostname, "a", "b")})
		}, []string{"a"}, []string{"b"}},
		{"an affinity by host names, none of them well", func(s *corev1.PodSpec) {
			s.Affinity = affinity(corev1.NodeSelectorTerm{MatchExpressions: in(hostname, "a", "b")})
		}, []string{"a", "b"}, []string{"a", "b"}},
		{"two affinities, one of them well", func(s *corev1.PodSpec) {
			s.Affinity = affinity(corev1.NodeSelectorTerm{MatchFields: in("metadata.name", "a")}, corev1.NodeSelectorTerm{MatchFields: in("metadata.name", "b")})
		}, []string{"a"}, []string{"b"}},
		{"a name, or anything with a label", func(s *corev1.PodSpec) {
			s.Affinity = affinity(corev1.NodeSelectorTerm{MatchFields: in("metadata.name", "a")}, corev1.NodeSelectorTerm{MatchExpressions: in("gpu", "yes")})
		}, []string{"a"}, []string{"b", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var left []string
			for _, name := range []string{"a", "b", "c"} {
				if spec := podWith(c.change, c.avoided...); matches(t, spec.Affinity, name) {
					left = append(left, name)
				}
			}
			if diff := cmp.Diff(c.named, left); diff != "" {
				t.Errorf("the affinity leaves (-want +got):\n%s", diff)
			}
		})
	}
	job := builder.Job("j", builder.Workers(1, builder.Template(func(template *corev1.PodTemplateSpec) { template.Spec.NodeName = "a" })))
	pod := build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, state.Avoided{Required: []string{"a", "b"}})
	if says, found := pod.Annotations[v1alpha1.AnnotationAvoidedNodes]; found {
		t.Errorf("the pod says that it avoids %s", says)
	}
}

// matches reports whether a node of that name matches the required affinity, as Kubernetes defines it: one of the terms, and all of
// its requirements. The node's host name is its name, and its label gpu is yes.
func matches(t *testing.T, affinity *corev1.Affinity, name string) bool {
	t.Helper()
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	is := map[string]string{"metadata.name": name, corev1.LabelHostname: name, "gpu": "yes"}
	fails := func(r corev1.NodeSelectorRequirement) bool {
		switch r.Operator {
		case corev1.NodeSelectorOpIn:
			return !slices.Contains(r.Values, is[r.Key])
		case corev1.NodeSelectorOpNotIn:
			return slices.Contains(r.Values, is[r.Key])
		default:
			t.Fatalf("this test does not know %s", r.Operator)
			return true
		}
	}
	return slices.ContainsFunc(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(slices.Concat(term.MatchFields, term.MatchExpressions), fails)
	})
}
