package main

import (
	"slices"
	"strings"
	"testing"
)

// Every case lacks a cluster, so an error of its own shows that the bench has looked at the flags first.
func TestWhatMeasuresNothingIsRefusedBeforeTheCluster(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"--workers 0", "no cluster"},
		{"--jobs 0", "no cluster"},
		{"--workers 0 --jobs 0", "nothing is left to measure"},
		{"--workers=-1", "--workers -1: write at least 0"},
		{"--replicas 0", "--replicas 0: write at least 1"},
		{"--rounds 0", "--rounds 0: write at least 1"},
		{"--only TrainingJob,byhand", `--only "byhand": write some of by hand`},
		{"recovery --workers 0", "--workers 0: write at least 1"},
		{"gangs --schedulers native", `--schedulers "native": write some of Native, Volcano, Coscheduling`},
		{"names --sizes 512,0", "--sizes 0: write at least 1"},
		{"queued --sizes 0", "--sizes 0: write at least 1"},
		{"scale --large=-5", "--large -5: write at least 0"},
		{"flood --within=-1m", "--within -1m0s: write more than 0s"},
		{"tenants --starts 0", "--starts 0: write at least 1"},
		{"peers --rounds 0", "--rounds 0: write at least 1"},
		{"peers --rest-for 0s", "--rest-for 0s: write more than 0s"},
		{"peers --rows large,smal", `--rows "smal": write some of large, small`},
		{"peers --makers Jobset", `--makers "Jobset": write some of pods by hand`},
	} {
		t.Setenv("KUBECONFIG", "")
		cmd := command()
		cmd.SetArgs(strings.Fields(test.args))
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("bench %s: error %v, want %q", test.args, err, test.want)
		}
	}
}

func TestZeroLeavesAShapeOut(t *testing.T) {
	for _, test := range []struct {
		options options
		want    []shape
	}{
		{options{workers: 512, jobs: 100, replicas: 8}, []shape{{1, 512}, {100, 8}}},
		{options{workers: 0, jobs: 100, replicas: 8}, []shape{{100, 8}}},
		{options{workers: 512, jobs: 0, replicas: 8}, []shape{{1, 512}}},
	} {
		if got := test.options.shapes(); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %v, want %v", test.options, got, test.want)
		}
	}
}

func TestRowsThatTakeLongAreMeasuredOnceUnlessTheyAreNamed(t *testing.T) {
	for _, test := range []struct {
		rows  []string
		row   string
		round int
		want  bool
	}{
		{nil, rowLarge, 2, true},
		{nil, rowHuge, 0, true},
		{nil, rowHuge, 1, false},
		{[]string{rowHuge}, rowHuge, 2, true},
		{[]string{rowHuge}, rowLarge, 0, false},
	} {
		if got := (peerOptions{rows: test.rows}).isDue(test.row, test.round); got != test.want {
			t.Errorf("--rows %q: round %d measures %s: %t, want %t", test.rows, test.round+1, test.row, got, test.want)
		}
	}
}
