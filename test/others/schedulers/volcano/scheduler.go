package main

import (
	"volcano.sh/volcano/cmd/scheduler/app"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	_ "volcano.sh/volcano/pkg/scheduler/actions" // enqueue, allocate, preempt ...
	_ "volcano.sh/volcano/pkg/scheduler/plugins" // gang, priority, predicates ...
)

func schedule() error {
	option := options.NewServerOption()
	parse(option.AddFlags)
	option.RegisterOptions()
	if err := option.CheckOptionOrDie(); err != nil {
		return err
	}
	return app.Run(option)
}
