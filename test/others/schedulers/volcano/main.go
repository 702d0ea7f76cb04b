// Volcano is Volcano's scheduler and its controller manager in one binary: they share nearly all of their code.
//
//	volcano scheduler --kubeconfig ...
//	volcano controller-manager --kubeconfig ...
//
// Neither elects a leader: a lab has one of each.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

func main() {
	if err := volcano(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "volcano:", err)
		os.Exit(1)
	}
}

func volcano(args []string) error {
	programs := map[string]func() error{"scheduler": schedule, "controller-manager": control}
	if len(args) < 2 || programs[args[1]] == nil {
		return fmt.Errorf("which program? Write %s scheduler or %s controller-manager", args[0], args[0])
	}
	os.Args = args[1:]
	klog.InitFlags(nil)
	defer klog.Flush()
	return programs[args[1]]()
}

// parse reads the command line with klog's flags beside the program's own.
func parse(add func(*pflag.FlagSet)) {
	add(pflag.CommandLine)
	flag.InitFlags()
}
