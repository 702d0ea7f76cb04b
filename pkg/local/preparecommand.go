package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// checkCommand checks that the program of a container exists here, and its script.
func (o *Options) checkCommand(c *corev1.Container) (notes []string, err error) {
	command := slices.Concat(c.Command, c.Args)
	switch {
	case len(c.Command) == 0 && len(o.Command) == 0:
		return nil, fmt.Errorf("it has no command, and images are not used here: write --image-command with what the image %s starts, such as \"python3 train.py\"", c.Image)
	case len(c.Command) == 0:
		command = slices.Concat(o.Command, c.Args)
	}
	paths := slices.Clone(o.Paths)
	paths.Sort()
	for i := range command {
		command[i] = paths.Replace(command[i])
	}
	folder := paths.Replace(c.WorkingDir)
	if folder != "" && !o.isMounted(c, folder) && !isFolder(folder) {
		return nil, fmt.Errorf("there is no folder %s (workingDir): remove it, or write --path %s=FOLDER", folder, c.WorkingDir)
	}
	if err := checkProgram(command[0]); err != nil {
		return nil, err
	}
	if err := checkModule(command, folder, c); err != nil {
		return nil, err
	}
	if script := scriptOf(command); script != "" && !o.isMounted(c, script) {
		if _, err := os.Stat(filepath.Join(absolute(folder, script), script)); err != nil {
			return nil, noScript(script)
		}
	}
	return o.checkShell(c, command), nil
}

func noScript(script string) error {
	if !filepath.IsAbs(script) {
		return fmt.Errorf("there is no %s in this folder: run from the folder that has it, or write the folder as workingDir", script)
	}
	return fmt.Errorf("there is no %s: a local run uses the files of this machine; write --path %s=FOLDER with the folder that has it", script, filepath.Dir(script))
}

// pathInShell is a path from the top folder in the text of a shell command.
var pathInShell = regexp.MustCompile(`(?:^|[\s"'=])(/[\w.-]+)/?[\w./-]*`)

// checkShell returns a note for each top folder in the text of a shell command that does not exist here.
func (o *Options) checkShell(c *corev1.Container, command []string) (notes []string) {
	at := slices.Index(command, "-c")
	if at < 0 || at+1 >= len(command) || !slices.Contains(shells, filepath.Base(command[0])) {
		return nil
	}
	for _, found := range pathInShell.FindAllStringSubmatch(command[at+1], -1) {
		top := found[1]
		if _, err := os.Stat(top); err != nil && !o.isMounted(c, strings.TrimSpace(found[0])) && !o.isMounted(c, top) {
			notes = append(notes, fmt.Sprintf("The command of container %s names %s, which is not here: write --path %s=FOLDER with the folder that it stands for.", c.Name, top, top))
		}
	}
	return notes
}

// shells are the programs that run a text after -c.
var shells = []string{"sh", "bash"}

// checkModule checks that the module of python -m exists. It imports nothing.
func checkModule(command []string, folder string, c *corev1.Container) error {
	if len(command) < 3 || command[1] != "-m" || !strings.HasPrefix(filepath.Base(command[0]), "python") {
		return nil
	}
	top, _, _ := strings.Cut(command[2], ".")
	find := exec.Command(command[0], "-c", "import sys, importlib.util as u; sys.path.insert(0, ''); sys.exit(3 if u.find_spec(sys.argv[1]) is None else 0)", top)
	find.Dir, find.Env = folder, os.Environ()
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			find.Env = append(find.Env, v.Name+"="+v.Value)
		}
	}
	var end *exec.ExitError
	if err := find.Run(); errors.As(err, &end) && end.ExitCode() == 3 {
		return fmt.Errorf("%s has no module %s: activate the virtual environment that has it, or write --env PYTHONPATH=FOLDER with the folder that has it", command[0], top)
	}
	return nil // what else may be wrong with it, the program shows
}

// absolute returns the folder that a relative path begins in; nothing for an absolute path.
func absolute(folder, path string) string {
	if filepath.IsAbs(path) {
		return ""
	}
	return folder
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (o *Options) isMounted(c *corev1.Container, path string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		mount := filepath.Clean(m.MountPath)
		return path == mount || strings.HasPrefix(path, mount+"/")
	})
}

func checkProgram(program string) error {
	switch _, err := exec.LookPath(program); {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not executable: chmod +x %s, or write its interpreter before it", program, program)
	}
	if words := strings.Fields(program); len(words) > 1 {
		return fmt.Errorf("the first word of the command is %q, with a blank in it: write each word by itself, as [%s]", program, strings.Join(words, ", "))
	}
	if program == "python" {
		if python3, err := exec.LookPath("python3"); err == nil {
			return fmt.Errorf("there is no python in PATH, and %s is Python: write python3 in the command, or activate a virtual environment", python3)
		}
	}
	if strings.HasPrefix(filepath.Base(program), "python") {
		return fmt.Errorf("there is no %s on this machine: install Python 3, or activate the virtual environment that has it", program)
	}
	if !strings.Contains(program, "/") {
		return fmt.Errorf("there is no program %s on this machine: install it, or activate the virtual environment that has it", program)
	}
	return fmt.Errorf("there is no program %s on this machine: install it, or write --path %s=FOLDER with the folder that has it", program, filepath.Dir(program))
}

// interpreters are programs whose first argument without a dash is a file.
var interpreters = []string{"python", "python3", "sh", "bash"}

// scriptOf returns the script that an interpreter is to run; empty if there is none.
func scriptOf(command []string) string {
	if !slices.Contains(interpreters, filepath.Base(command[0])) {
		return ""
	}
	for _, word := range command[1:] {
		switch {
		case word == "-c" || word == "-m" || word == "-":
			return ""
		case !strings.HasPrefix(word, "-"):
			return word
		}
	}
	return ""
}
