package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leftOut are the flags of each command whose 0 leaves something out.
var leftOut = map[string][]string{"bench": {"workers", "jobs"}, "scale": {"small-jobs", "large"}}

// checkNumbers returns an error for each flag with a number that measures nothing: less than 1, or less than 0 where 0 leaves something out.
func checkNumbers(cmd *cobra.Command) error {
	var wrong []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		least := 1
		if slices.Contains(leftOut[cmd.Name()], f.Name) {
			least = 0
		}
		texts := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			texts = list.GetSlice()
		}
		for _, text := range texts {
			number, err := strconv.Atoi(text)
			length, isNoTime := time.ParseDuration(text)
			switch {
			case f.Value.Type() == "duration" && isNoTime == nil && length <= 0:
				wrong = append(wrong, fmt.Errorf("--%s %s: write more than 0s", f.Name, text))
			case strings.HasPrefix(f.Value.Type(), "int") && err == nil && number < least:
				wrong = append(wrong, fmt.Errorf("--%s %s: write at least %d", f.Name, text, least))
			}
		}
	})
	return errors.Join(wrong...)
}

// checkNames returns an error for each name that the flag does not know.
func checkNames(flag string, given, known []string) error {
	var wrong []error
	for _, name := range given {
		if !slices.Contains(known, name) {
			wrong = append(wrong, fmt.Errorf("--%s %q: write some of %s", flag, name, strings.Join(known, ", ")))
		}
	}
	return errors.Join(wrong...)
}
