package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicencesIn(t *testing.T) {
	gpl := "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License as published by " +
		"the Free Software Foundation, either version 3 of the License, or (at your option) any later version."
	apache, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, text, want string }{
		{"the operator's own", "LICENSE", string(apache), ""},
		{"in a file of another name", "COPYING.txt", string(apache), ""},
		{"one that is not allowed", "LICENSE", gpl, "is not allowed"},
		{"a text that is none", "LICENSE.md", "Do what you like with it, on Sundays.", "is a known licence"},
		{"that of documents alone", "LICENSE.docs", string(apache), "no licence file"},
		{"none", "README.md", string(apache), "no licence file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := licencesIn(dir)
			if err == nil {
				err = judge(found)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, %v; want an error with %q", found, err, c.want)
			}
		})
	}
}
