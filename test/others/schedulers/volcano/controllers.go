package main

import (
	"slices"

	"github.com/spf13/pflag"
	"volcano.sh/volcano/cmd/controller-manager/app"
	"volcano.sh/volcano/cmd/controller-manager/app/options"
	"volcano.sh/volcano/pkg/controllers/framework"
	_ "volcano.sh/volcano/pkg/controllers/job"      // Volcano's own Job, which the operator is measured beside
	_ "volcano.sh/volcano/pkg/controllers/podgroup" // a PodGroup for each pod without one
	_ "volcano.sh/volcano/pkg/controllers/queue"    // makes and opens the default queue
)

// control runs the controllers that bare pods and Volcano's own Jobs need.
func control() error {
	option := options.NewServerOption()
	parse(func(flags *pflag.FlagSet) { option.AddFlags(flags, linkedControllers()) })
	if err := option.CheckOptionOrDie(); err != nil {
		return err
	}
	return app.Run(option)
}

func linkedControllers() []string {
	var names []string
	framework.ForeachController(func(c framework.Controller) { names = append(names, c.Name()) })
	slices.Sort(names)
	return names
}
