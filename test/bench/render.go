package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trainingjob/operator/test/bench/results"
)

const (
	defaultResults = "docs/peers.json"
	// The lines of the document between which its tables are.
	beginOfTables, endOfTables = "<!-- peers: begin, made by bench render -->", "<!-- peers: end -->"
)

func renderCommand() *cobra.Command {
	var file, document, picture string
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Writes the tables and the picture of what bench peers has measured",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error { return render(file, document, picture) },
	}
	f := cmd.Flags()
	f.StringVar(&file, "results", defaultResults, "file with the results")
	f.StringVar(&document, "document", "docs/benchmarks.md", "document whose tables are renewed")
	f.StringVar(&picture, "picture", "docs/images/peers.svg", "picture that is renewed")
	return cmd
}

func render(file, document, picture string) error {
	measured, err := results.Read(file)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	before, rest, begins := strings.Cut(string(old), beginOfTables)
	_, after, ends := strings.Cut(rest, endOfTables)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the tables: write the lines %q and %q", document, beginOfTables, endOfTables)
	}
	text := before + beginOfTables + "\n\n" + strings.TrimSpace(measured.Markdown()) + "\n\n" + endOfTables + after
	if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the document: %w", err)
	}
	svg, err := measured.Compare().Picture()
	if err != nil {
		return err
	}
	return os.WriteFile(picture, svg, 0o644)
}
