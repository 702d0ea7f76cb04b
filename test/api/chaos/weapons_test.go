//go:build chaos

package chaos

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// weapons are the ways in which a manifest can be hostile.
var weapons = []weapon{
	{"name", isRefused, []any{"UPPER", "9lives", "a.b", "a_b", "-a", "a-", "ä", "", strings.Repeat("a", 64), strings.Repeat("a", 300), "a b", "../etc"}, at("metadata", "name")},
	{"replicas", isRefused, []any{int64(-1), int64(10001), int64(math.MaxInt32), int64(math.MaxInt64), int64(math.MinInt64), "three", 1.5, true, []any{}}, ofWorker("replicas")},
	{"framework", isRefused, []any{"Caffe", "", "pytorch", int64(1), nil, map[string]any{}, huge}, at("spec", "framework")},
	{"role", isRefused, []any{"Boss", "worker", "", "Master", "Chief", "PS", "Launcher", strings.Repeat("W", 100), "Worker\n"}, oneMoreRole},
	{"replicaSpecs", isRefused, []any{nil, map[string]any{}, []any{}, "Worker", map[string]any{"Worker": nil}, map[string]any{"Worker": map[string]any{}}}, at("spec", "replicaSpecs")},
	{"spec", isRefused, []any{nil, "spec", []any{}, map[string]any{}, int64(0)}, at("spec")},
	{"an unknown field", isRefused, []any{"x", int64(1), nil, map[string]any{"y": "z"}}, at("spec", "repliccas")},
	{"an unknown field of a pod", isRefused, []any{"x", int64(1)}, ofPod("contaners")},
	{"template", isRefused, []any{nil, "", []any{}, map[string]any{}, map[string]any{"spec": map[string]any{}}}, ofWorker("template")},
	{"containers", isRefused, []any{nil, "", []any{}, []any{nil}, []any{map[string]any{"name": "main"}}, []any{map[string]any{"name": "main", "image": ""}}}, ofPod("containers")},
	{"restartPolicy", isRefused, []any{"", "Sometimes", int64(3), "never"}, ofWorker("restartPolicy")},
	{"restartScope", isRefused, []any{"World", int64(3), "job"}, ofWorker("restartScope")},
	{"successPolicy", isRefused, []any{"Nobody", int64(3), "leader"}, at("spec", "successPolicy")},
	{"cleanPodPolicy", isRefused, []any{"Some", int64(3)}, at("spec", "runPolicy", "cleanPodPolicy")},
	{"maxRestarts", isRefused, []any{int64(-1), int64(10001), int64(math.MaxInt64), "many", 0.5}, at("spec", "recovery", "maxRestarts")},
	{"backoffSeconds", isRefused, []any{int64(-1), int64(86401), int64(301), "soon"}, at("spec", "recovery", "backoffSeconds")},
	{"ttlSecondsAfterFinished", isRefused, []any{int64(-1), int64(math.MaxInt64), "1h"}, at("spec", "runPolicy", "ttlSecondsAfterFinished")},
	{"activeDeadlineSeconds", isRefused, []any{int64(-1), int64(0), "1h", 1.5}, at("spec", "runPolicy", "activeDeadlineSeconds")},
	{"elastic", isRefused, []any{map[string]any{}, map[string]any{"minReplicas": int64(5), "maxReplicas": int64(2)}, map[string]any{"minReplicas": int64(0), "maxReplicas": int64(2)},
		map[string]any{"minReplicas": int64(2), "maxReplicas": int64(20000)}, "yes"}, at("spec", "elastic")},
	{"suspend", isRefused, []any{"no", int64(0), []any{}}, at("spec", "suspend")},
	{"annotation of 300 kB", isRefused, []any{huge}, at("metadata", "annotations", "a")},
	{"label", isRefused, []any{strings.Repeat("v", 64), "a b", "-", "ä", "\x00"}, at("metadata", "labels", "l")},
	{"a port of a probe", isRefused, []any{int64(99999999999), int64(0), int64(65536), int64(-1), int64(math.MaxInt64), 1.5, true, nil}, ofContainer("livenessProbe", "httpGet", "port")},
	{"a port of a container", isRefused, []any{int64(99999999999), int64(math.MinInt64), "http"}, ofContainer("ports", "[]", "containerPort")},
	{"a quantity", isRefused, unreadable, ofContainer("resources", "limits", "cpu")},
	{"a size limit", isRefused, unreadable, ofPod("volumes", "[]", "emptyDir", "sizeLimit")},
	{"overhead", isRefused, unreadable, ofPod("overhead", "cpu")},
	{"a number beyond its type", isRefused, []any{int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1, 1e300}, ofPod("priority")},
	{"6,000 terms of affinity", isRefused, []any{slices.Repeat([]any{map[string]any{"matchFields": []any{}}}, 6000)},
		ofPod("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")},
	{"12,000 variables", isRefused, []any{variables(12_000)}, ofContainer("env")},
	{"message of 4 MB", isRefused, []any{strings.Repeat(huge, 14)}, ofContainer("workingDir")},

	{"a container's name", isStalled, []any{"BAD", "a b", strings.Repeat("n", 64), "ä"}, ofContainer("name")},
	{"a service account", isStalled, []any{"nobody", "root"}, ofPod("serviceAccountName")},
	{"a priority class", isStalled, []any{"highest", "vip"}, ofPod("priorityClassName")},
	{"a pull policy", isStalled, []any{"Sometimes", "always"}, ofContainer("imagePullPolicy")},
	{"a volume mount", isStalled, []any{[]any{map[string]any{"name": "nowhere", "mountPath": "/x"}}}, ofContainer("volumeMounts")},
	{"resources", isStalled, []any{map[string]any{"limits": map[string]any{"cpu": "-1"}}, map[string]any{"requests": map[string]any{"memory": "2Gi"}, "limits": map[string]any{"memory": "1Gi"}}}, ofContainer("resources")},

	{"host name", isTaken, []any{"mine", "localhost"}, ofPod("hostname")},
	{"restartPolicy of a pod", isTaken, []any{"Always", "OnFailure"}, ofPod("restartPolicy")},
	{"more resources than there are", isTaken, []any{map[string]any{"limits": map[string]any{"cpu": "1000000"}}, map[string]any{"limits": map[string]any{"nvidia.com/gpu": "4096"}}}, ofContainer("resources")},
	{"node selector", isTaken, []any{map[string]any{"moon": "dark"}}, ofPod("nodeSelector")},
	{"environment", isTaken, []any{
		[]any{map[string]any{"name": "RANK", "value": "-1"}, map[string]any{"name": "TF_CONFIG", "value": "}{"}},
		[]any{map[string]any{"name": "TRAININGJOB_ATTEMPT", "value": "\u202e\x01"}},
		[]any{map[string]any{"name": "A", "value": strings.Repeat("$(A)", 20_000)}},
	}, ofContainer("env")},
	{"arguments", isTaken, []any{[]any{"'; DROP TABLE jobs; --", "$(rm -rf /)", "{{.}}", "%s%n"}}, ofContainer("args")},
	{"our own labels", isTaken, []any{map[string]any{"trainingjob.dev/job-name": "other", "trainingjob.dev/job-uid": "0", "trainingjob.dev/attempt": "-9"}}, ofWorker("template", "metadata", "labels")},
	{"annotations of 100 kB", isTaken, []any{map[string]any{"a": huge[:100_000]}}, ofWorker("template", "metadata", "annotations")},
	{"a forged status", isTaken, []any{map[string]any{"phase": "Succeeded", "attempt": int64(7), "restarts": int64(9)}}, at("status")},
	{"many finalizers", isTaken, []any{[]any{"chaos.example/a", "chaos.example/b"}}, at("metadata", "finalizers")},
	{"a tolerance for everything", isTaken, []any{[]any{map[string]any{"operator": "Exists"}}}, ofPod("tolerations")},
	{"no time at all", isTaken, []any{int64(1)}, at("spec", "runPolicy", "activeDeadlineSeconds")},
}

// unreadable are quantities that Go cannot decode, and one that would take it minutes.
var unreadable = []any{"1E1.5", "1e99999999999999999999", "1e-999999999", "", ".", "1Zi", strings.Repeat("9", 65), 0.5, true}

// variables returns so many.
func variables(n int) []any {
	var env []any
	for i := range n {
		env = append(env, map[string]any{"name": fmt.Sprintf("V%d", i)})
	}
	return env
}
