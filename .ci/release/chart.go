package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// chart writes the Helm chart with the version, the registry and the digests of the release.
func (r *release) chart(digests map[string]string) error {
	folder := filepath.Join(r.tree, "manifests/chart")
	version := strings.TrimPrefix(r.version, "v")
	changes := map[string][][2]string{
		"Chart.yaml": {
			{"\nversion: 0.0.0\n", "\nversion: " + version + "\n"},
			{"\nappVersion: v0.0.0\n", "\nappVersion: " + r.version + "\n"},
			{`artifacthub.io/prerelease: "true"`, fmt.Sprintf(`artifacthub.io/prerelease: "%v"`, r.isPrerelease())},
		},
		"values.yaml": {
			{"\n  registry: \"\"\n", "\n  registry: " + r.registry + "\n"},
			{"\n  digest: \"\"\n", fmt.Sprintf("\n  digest: %q\n", digests["operator"])},
			{`  digest: "" # of its image`, fmt.Sprintf("  digest: %q # of its image", digests["kueue-adapter"])},
		},
	}
	var files []entry
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		text, err := replaceOnce(file, string(content), changes[file])
		files = append(files, entry{"trainingjob/" + filepath.ToSlash(file), 0o644, []byte(text)})
		return err
	})
	if err != nil {
		return fmt.Errorf("packing the chart: %w", err)
	}
	return r.writeTarGz(filepath.Join(r.out, "trainingjob-"+version+".tgz"), files...)
}

// replaceOnce replaces texts that must be there just once.
func replaceOnce(file, text string, changes [][2]string) (string, error) {
	for _, change := range changes {
		if n := strings.Count(text, change[0]); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once", file, change[0], n)
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text, nil
}
