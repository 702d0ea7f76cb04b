package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
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
		{"requests below none", []string{"--kube-api-qps=-1"}, `--kube-api-qps -1: write 0 for no limit, or a number above it`},
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
