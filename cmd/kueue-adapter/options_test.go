package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// execute runs the command line with arguments that do not start the adapter, and returns what it prints.
func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestWrongOptionsAreToldWhatToWriteInstead(t *testing.T) {
	cases := []struct {
		name, arg, want string
	}{
		{"log level", "--log-level=loud", `--log-level "loud": write debug, info, warn or error`},
		{"log format", "--log-format=xml", `--log-format "xml": write json or text`},
		{"a gate that Kueue does not know", "--feature-gates=Frobnicate=true", `--feature-gates "Frobnicate=true": unrecognized feature gate: Frobnicate`},
		{"a flag nobody knows", "--frobnicate", `unknown flag: --frobnicate`},
		{"an argument", "start", `unknown command "start" for "kueue-adapter"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := execute(t, c.arg)
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
}

func TestHelpSaysWhatEachFlagDoes(t *testing.T) {
	help, err := execute(t, "--help")
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
	got, err := execute(t, "--version")
	if diff := cmp.Diff("kueue-adapter version "+version+"\n", got); diff != "" || err != nil {
		t.Errorf("error %v, version (-want +got):\n%s", err, diff)
	}
}
