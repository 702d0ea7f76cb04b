package build_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/build"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/test/sim/builder"
)

const (
	notReady    = corev1.TaintNodeNotReady
	unreachable = corev1.TaintNodeUnreachable
)

// podWith returns the spec of the pod whose template has that change, off the nodes.
func podWith(change func(*corev1.PodSpec), avoided ...string) *corev1.PodSpec {
	job := builder.Job("j", builder.Workers(1, builder.Template(func(template *corev1.PodTemplateSpec) { change(&template.Spec) })))
	return &build.Pod(job, state.Slot{Role: v1alpha1.Worker}, state.Life{}, nil, avoided).Spec
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
	others := func(nodes ...string) corev1.PreferredSchedulingTerm {
		return corev1.PreferredSchedulingTerm{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchFields: off(nodes...)}}
	}
	required := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: gpu}}}
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: gpu}}}
	own := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}, NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: required, PreferredDuringSchedulingIgnoredDuringExecution: preferred}}
	both := own.DeepCopy()
	both.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = slices.Concat(preferred, []corev1.PreferredSchedulingTerm{others("a")})
	cases := []struct {
		name     string
		affinity *corev1.Affinity
		avoided  []string
		want     *corev1.Affinity
	}{
		{"no node: the affinity is left alone", own, nil, own},
		{"no node and no affinity: none is made", nil, nil, nil},
		{"each node is a requirement of its own", nil, []string{"a", "b"}, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{others("a", "b")}}}},
		{"all that the template asks for stays", own, []string{"a"}, both},
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
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return
	}
	for _, term := range spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		for _, r := range term.Preference.MatchFields {
			isNode := r.Key == "metadata.name" && (r.Operator == corev1.NodeSelectorOpIn || r.Operator == corev1.NodeSelectorOpNotIn)
			if !isNode || len(r.Values) != 1 || len(validation.IsDNS1123Subdomain(r.Values[0])) > 0 {
				t.Errorf("the API server refuses the field requirement %v", r)
			}
		}
	}
}

func TestExcludedNodes(t *testing.T) {
	only := func(node string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}}
	}
	zone := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}
	lost := []corev1.NodeSelectorRequirement{only("b"), only("c")}
	for name, c := range map[string]struct{ template, want []corev1.NodeSelectorTerm }{
		"a template without an affinity": {nil, []corev1.NodeSelectorTerm{{MatchFields: lost}}},
		"each term of a template, but one that matches no node": {
			[]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{zone}}, {}, {MatchFields: []corev1.NodeSelectorRequirement{only("x")}}},
			[]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{zone}, MatchFields: lost}, {}, {MatchFields: append([]corev1.NodeSelectorRequirement{only("x")}, lost...)}},
		},
	} {
		pod := &corev1.Pod{}
		if c.template != nil {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: c.template}}}
		}
		build.Exclude(pod, []string{"b", "c"})
		got := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if diff := cmp.Diff(c.want, got); diff != "" || pod.Annotations[v1alpha1.AnnotationExcludedNodes] != "b,c" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	none := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationExcludedNodes: "a"}}} // by its template
	if build.Exclude(none, nil); none.Spec.Affinity != nil || len(none.Annotations) > 0 {
		t.Errorf("a pod that excludes no node has %v", none)
	}
}
