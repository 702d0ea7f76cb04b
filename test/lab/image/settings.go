//go:build linux

package image

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// certificateVariables name a file of certificates for one program or another.
var certificateVariables = []string{"SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}

// lendSettings puts this machine's certificates and its settings of apt and pip into dir, which is /run while a step
// runs: a machine that reaches registries by a proxy or a mirror reaches them from a step as well.
func lendSettings(dir string) error {
	apt, err := exec.Command("apt-config", "dump", "Acquire").Output()
	if err != nil {
		return fmt.Errorf("reading the settings of apt: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "apt.conf"), apt, 0o644); err != nil {
		return err
	}
	files := map[string]string{"pip.conf": "/etc/pip.conf"}
	for _, name := range certificateVariables {
		if path := os.Getenv(name); path != "" {
			files[name] = path
		}
	}
	for name, path := range files {
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("lending the step %s: %w", path, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// lentEnvironment returns the variables that point to what lendSettings puts into /run, and those of this
// process that say how to reach registries.
func lentEnvironment() []string {
	env := []string{"APT_CONFIG=/run/apt.conf", "PIP_CONFIG_FILE=/run/pip.conf"}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case value == "":
		case slices.Contains(certificateVariables, name):
			env = append(env, name+"=/run/"+name)
		case strings.HasSuffix(strings.ToLower(name), "_proxy"), strings.HasPrefix(name, "PIP_"):
			env = append(env, variable)
		}
	}
	return env
}
