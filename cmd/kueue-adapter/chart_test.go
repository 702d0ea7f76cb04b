package main

import (
	"flag"
	"testing"

	"github.com/spf13/pflag"

	"github.com/trainingjob/operator/test/api/chart"
)

var update = flag.Bool("update", false, "write the flags into the schema of the chart")

func TestTheChartHasEveryFlag(t *testing.T) {
	flags := pflag.NewFlagSet("kueue-adapter", pflag.ContinueOnError)
	defaults().addFlags(flags)
	chart.CheckFlags(t, "../../manifests/chart/values.schema.json", "kueue", flags, *update)
}
