// Coscheduling is a kube-scheduler with scheduler-plugins' gang plug-in in it, and none of the other plug-ins that
// scheduler-plugins' own scheduler carries, and scheduler-plugins' controller, which writes the status of PodGroups.
//
//	coscheduling scheduler --config ...
//	coscheduling controller --kubeconfig ...
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme" // how the plug-in's arguments are read
	controller "sigs.k8s.io/scheduler-plugins/cmd/controller/app"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
)

func main() {
	programs := map[string]func() int{"scheduler": schedule, "controller": control}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "which program? Write coscheduling scheduler or coscheduling controller")
		os.Exit(2)
	}
	run := programs[os.Args[1]]
	os.Args = os.Args[1:]
	os.Exit(run())
}

func schedule() int {
	return cli.Run(scheduler.NewSchedulerCommand(scheduler.WithPlugin(coscheduling.Name, coscheduling.New)))
}

func control() int {
	// Kubernetes' packages have put flags of their own on the global set.
	pflag.CommandLine = pflag.NewFlagSet("controller", pflag.ExitOnError)
	options := controller.NewServerRunOptions()
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	pflag.Parse()
	if err := controller.Run(options); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		return 1
	}
	return 0
}
