package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/trainingjob/operator/pkg/job/nodes"
	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/operator/cluster"
	"github.com/trainingjob/operator/pkg/operator/progress"
)

// execute runs the command line with arguments that do not start the operator, and returns what it prints.
func execute(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(context.Background())
	return out.String(), err
}

func TestWrongOptionsAreToldWhatToWriteInstead(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"log level", []string{"--log-level=loud"}, `--log-level "loud": write debug, info, warn or error`},
		{"log format", []string{"--log-format=xml"}, `--log-format "xml": write json or text`},
		{"no jobs at the same time", []string{"--concurrent-jobs=0"}, `--concurrent-jobs 0: write a number from 1 to 256`},
		{"too many jobs at the same time", []string{"--concurrent-jobs=257"}, `--concurrent-jobs 257: write a number from 1 to 256`},
		{"a lease that ends before its leader gives up", []string{"--leader-elect-lease-duration=10s"},
			`--leader-elect-lease-duration 10s: write more than --leader-elect-renew-deadline, 10s`},
		{"no second try to renew", []string{"--leader-elect-retry-period=7s"},
			`--leader-elect-retry-period 7s: write a time above 0 and at most two thirds of --leader-elect-renew-deadline, 10s`},
		{"a namespace that cannot be", []string{"--namespaces=a b"}, `--namespaces and --exclude-namespaces: "a b" is no name of a namespace`},
		{"a namespace on both lists", []string{"--namespaces=a,kube-system"},
			`--namespaces kube-system: this namespace is the operator's own or one of --exclude-namespaces`},
		{"requests below none", []string{"--kube-api-qps=-1"}, `--kube-api-qps -1: write 0 for no limit, or a number above it`},
		{"nodes that are lost at once", []string{"--node-lost-after=999ms"}, `--node-lost-after 999ms: write a time from 1s to 1h`},
		{"nodes that are never lost", []string{"--node-lost-after=1h0m1s"}, `--node-lost-after 1h0m1s: write a time from 1s to 1h`},
		{"a time that is none", []string{"--node-lost-after=15"}, `invalid argument "15" for "--node-lost-after" flag: time: missing unit in duration "15"`},
		{"a signal without an action", []string{"--node-signals=condition:KernelDeadlock"},
			`--node-signals "condition:KernelDeadlock": write one of Ignore, Avoid, Blame, Lost after the =`},
		{"an action in small letters", []string{"--node-signals=condition:KernelDeadlock=blame"},
			`--node-signals "condition:KernelDeadlock=blame": write one of Ignore, Avoid, Blame, Lost after the =`},
		{"a signal of no kind", []string{"--node-signals=KernelDeadlock=Blame"},
			`--node-signals "KernelDeadlock=Blame": write condition:TYPE=ACTION, taint:KEY=ACTION, cordon=ACTION or none`},
		{"a signal without a name", []string{"--node-signals=cordon=Blame,taint:=Blame"},
			`--node-signals "taint:=Blame": write condition:TYPE=ACTION, taint:KEY=ACTION, cordon=ACTION or none`},
		{"a cordon with a name", []string{"--node-signals=cordon:x=Blame"},
			`--node-signals "cordon:x=Blame": write condition:TYPE=ACTION, taint:KEY=ACTION, cordon=ACTION or none`},
		{"a taint with its effect", []string{"--node-signals=taint:gpu:NoSchedule=Blame"},
			`--node-signals "taint:gpu:NoSchedule=Blame": write condition:TYPE=ACTION, taint:KEY=ACTION, cordon=ACTION or none`},
		{"a cordon that loses pods", []string{"--node-signals=cordon=Lost"},
			`--node-signals "cordon=Lost": pods on a cordoned node run on: write cordon=Blame, cordon=Avoid or cordon=Ignore`},
		{"a node that is unhealthy when it is ready", []string{"--node-signals=condition:Ready=Blame"},
			`--node-signals "condition:Ready=Blame": a node is unhealthy if the condition is True, and healthy if it is Ready: write how long it may be not ready into --node-lost-after`},
		{"a node out of service that is not lost", []string{"--node-signals=taint:node.kubernetes.io/out-of-service=Avoid"},
			`--node-signals "taint:node.kubernetes.io/out-of-service=Avoid": pods on a node with this taint always count as lost: write nothing about it`},
		{"a range of ports that ends before it begins", []string{"--forbidden-page-ports=9100,9410-9400"}, `--forbidden-page-ports "9410-9400": write a port or a range, as 9100 or 9400-9410`},
		{"a taint that is no key", []string{"--lost-node-taints=a b"}, `--lost-node-taints "a b": write the key of a taint, as example.com/broken`},
		{"a taint that two flags name", []string{"--lost-node-taints=a", "--node-signals=taint:a=Blame"},
			`--lost-node-taints "a": --node-signals also sets an action for this taint: name it once`},
		{"a flag nobody knows", []string{"--frobnicate"}, `unknown flag: --frobnicate`},
		{"an argument", []string{"start"}, `unknown command "start" for "operator"`},
		{"a number that is none", []string{"--concurrent-jobs=x"}, `invalid argument "x" for "--concurrent-jobs" flag: strconv.ParseInt: parsing "x": invalid syntax`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := execute(c.args...)
			if err == nil {
				t.Fatal("it is accepted")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheDefaultsAreValid(t *testing.T) {
	if err := defaults().validate(); err != nil {
		t.Error(err)
	}
	for _, level := range []string{"debug", "info", "warn", "error"} {
		for _, format := range []string{"json", "text"} {
			o := defaults()
			if o.logLevel, o.logFormat = level, format; o.validate() != nil {
				t.Errorf("--log-level=%s --log-format=%s: %v", level, format, o.validate())
			}
		}
	}
}

func TestTheFlagsOfNodesReachTheCluster(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want cluster.Options
	}{
		{"the defaults", nil, cluster.Options{Parallel: cluster.Parallelism, Excluded: []string{"kube-system", "kube-public", "kube-node-lease"}, WatchNodes: true, KeepsEnded: true, LostAfter: 15 * time.Second, MaxCheckpointWait: 5 * time.Minute, Gang: "None", Signals: nodes.DefaultSignals()}},
		{"some namespaces", []string{"--namespaces=a,b", "--exclude-namespaces=c"}, cluster.Options{Parallel: cluster.Parallelism, Namespaces: []string{"a", "b"},
			Excluded: []string{"c"}, WatchNodes: true, KeepsEnded: true, LostAfter: 15 * time.Second, MaxCheckpointWait: 5 * time.Minute, Gang: "None", Signals: nodes.DefaultSignals()}},
		{"nodes are not watched", []string{"--watch-nodes=false"}, cluster.Options{Parallel: cluster.Parallelism, Excluded: []string{"kube-system", "kube-public", "kube-node-lease"}, KeepsEnded: true, LostAfter: 15 * time.Second, MaxCheckpointWait: 5 * time.Minute, Gang: "None", Signals: nodes.DefaultSignals()}},
		{"all of them", []string{"--node-lost-after=1h", "--max-checkpoint-wait=30s", "--lost-node-taints=a,b", "--lost-node-taints=c", "--node-signals=none,cordon=Blame", "--node-signals=condition:Bad=Lost", "--gang=Volcano", "--forbidden-page-ports=9100,9400-9410", "--keep-ended-pods=false"},
			cluster.Options{Parallel: cluster.Parallelism, Excluded: []string{"kube-system", "kube-public", "kube-node-lease"}, WatchNodes: true, LostAfter: time.Hour, MaxCheckpointWait: 30 * time.Second, Signals: nodes.Signals{
				{Kind: "taint", Name: "a"}: state.LoseNode, {Kind: "taint", Name: "b"}: state.LoseNode, {Kind: "taint", Name: "c"}: state.LoseNode,
				{Kind: "cordon"}: state.BlameNode, {Kind: "condition", Name: "Bad"}: state.LoseNode,
			}, Gang: "Volcano", Fence: progress.Fence{NodePorts: progress.Ports{{First: 9100, Last: 9100}, {First: 9400, Last: 9410}}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o, flags := defaults(), pflag.NewFlagSet("operator", pflag.ContinueOnError)
			o.addFlags(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, o.clusterOptions()); diff != "" || o.validate() != nil {
				t.Errorf("error %v, options (-want +got):\n%s", o.validate(), diff)
			}
		})
	}
}

func TestHelpSaysWhatEachFlagDoes(t *testing.T) {
	help, err := execute("--help")
	if err != nil {
		t.Fatal(err)
	}
	command().Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(help, "--"+f.Name) || f.Usage == "" || !strings.Contains(help, f.Usage) {
			t.Errorf("--%s is missing in the help, or what it does", f.Name)
		}
	})
}

func TestVersion(t *testing.T) {
	got, err := execute("--version")
	if diff := cmp.Diff("operator version "+version+"\n", got); diff != "" || err != nil {
		t.Errorf("error %v, version (-want +got):\n%s", err, diff)
	}
}

// A watch is made of functions, which JSON does not know.
func TestTheLogHasAValuesOwnWords(t *testing.T) {
	var text strings.Builder
	log := slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{ReplaceAttr: logAsString}))
	log.Info("starting", "source", types.NamespacedName{Namespace: "a", Name: "b"}, "count", 3)
	if got := text.String(); !strings.Contains(got, `"source":"a/b","count":3`) {
		t.Errorf("logged %s", got)
	}
}

// Whoever looks for DEBUG finds every line of that level, however slog calls it.
func TestAllThatIsBelowInfoIsDebug(t *testing.T) {
	var text strings.Builder
	log := logr.FromSlogHandler(slog.NewJSONHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: logAsString}))
	log.V(1).Info("planned")
	log.V(4).Info("looked")
	log.Info("starting")
	if got := text.String(); strings.Count(got, `"level":"DEBUG"`) != 2 || strings.Count(got, `"level":"INFO"`) != 1 {
		t.Errorf("logged %s", got)
	}
}
