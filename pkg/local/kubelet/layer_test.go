//go:build linux

package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lives counts its lives in a file of the folder and in a file of the volume, and ends well in its second life.
const lives = `cat given; echo life >> mine; echo "mine $(grep -c life mine)"; echo life >> vol/all; n=$(grep -c life vol/all)
mkdir -p sub; echo "of life $n" > sub/out; rm -f old; test $n = 2`

// What a program writes into the folder is gone in its next life, as in a container; what it writes into a volume is not. At the end the files
// of the last life are in the folder.
func TestAContainerBeginsWithFreshFiles(t *testing.T) {
	for name, c := range map[string]struct {
		kind   layering
		second string // what the second life finds
	}{
		"a mounted layer": {overlay, "mine 1"}, "a copy": {copied, "mine 1"}, "no layer": {shared, "mine 2"},
	} {
		t.Run(name, func(t *testing.T) {
			root, folder := t.TempDir(), t.TempDir()
			if c.kind == overlay && !canOverlay(root, folder) {
				t.Skip("this machine mounts no overlayfs for this user")
			}
			write(t, root+"/given", "as given\n")
			write(t, root+"/old", "old\n")
			write(t, root+"/vol/before", "")
			m := newMachine(t, func(o *Options) {
				o.Root, o.Folder, o.Claims = root, folder, map[string]string{"claim": root + "/vol"}
			})
			m.kinds[root] = c.kind
			m.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Hostname: "j-worker-0", Containers: []corev1.Container{{
				Name: "main", Command: []string{"sh", "-c", lives}, WorkingDir: root,
			}}})
			m.until("the pod succeeds", func() bool { return m.pod("p").Status.Phase == corev1.PodSucceeded })
			if got, want := m.printed(), "as given\nmine 1\nas given\n"+c.second+"\n"; got != want {
				t.Errorf("it printed %q, want %q", got, want)
			}
			if got := read(t, root+"/mine"); c.kind != shared && got != "" {
				t.Errorf("before the end of the run the folder has %q", got)
			}
			write(t, root+"/given", "edited while it ran\n")
			if err := m.CopyBack("j-worker-0"); err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{"sub/out": "of life 2\n", "given": "edited while it ran\n", "vol/all": "life\nlife\n"} {
				if got := read(t, filepath.Join(root, file)); got != want {
					t.Errorf("%s: %q, want %q", file, got, want)
				}
			}
			if rest, _ := filepath.Glob(folder + "/layers*/*"); len(rest) > 0 {
				t.Errorf("left behind: %v", rest)
			}
		})
	}
}

// Of a file that several replicas have written, the leader's stays.
func TestFilesOfTheLeaderStay(t *testing.T) {
	root := t.TempDir()
	m := newMachine(t, func(o *Options) { o.Root = root })
	for _, host := range []string{"j-master-0", "j-worker-0", "j-worker-1"} {
		l := &layer{kind: copied, root: root, folder: t.TempDir()}
		write(t, l.folder+"/model", host)
		write(t, l.folder+"/"+host, host)
		m.layers[host+"/main"] = l
	}
	if err := m.CopyBack("j-master-0"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, root+"/model") + " " + read(t, root+"/j-worker-1"); got != "j-master-0 j-worker-1" {
		t.Errorf("the folder has %q", got)
	}
}

// A program may put a folder where a file or a link was, or a file where a folder with files was. Only the last is not copied, and stops no other file.
func TestFilesOfAnotherKindStopNoOthers(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, root+"/file", "given")
	write(t, root+"/folder/given", "given")
	write(t, outside+"/f", "given")
	if err := os.Symlink(outside, root+"/link"); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, func(o *Options) { o.Root = root })
	l := &layer{kind: copied, root: root, folder: t.TempDir()}
	for path, text := range map[string]string{"file/f": "mine", "folder": "mine", "link/f": "mine", "zoo": "mine"} {
		write(t, l.folder+"/"+path, text)
	}
	m.layers["j-worker-0/main"] = l
	if err := m.CopyBack("j-worker-0"); err == nil || !strings.Contains(err.Error(), root+"/folder") || !strings.Contains(err.Error(), l.folder) {
		t.Errorf("error %v", err)
	}
	for path, want := range map[string]string{"/file/f": "mine", "/folder/given": "given", "/link/f": "mine", "/zoo": "mine"} {
		if got := read(t, root+path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := read(t, outside+"/f"); got != "given" {
		t.Errorf("the folder to which the link led has %q", got)
	}
	if got := read(t, l.folder+"/folder"); got != "mine" {
		t.Errorf("the file that was not copied: %q", got)
	}
}

// A shell may stand in a folder by way of a link.
func TestARootMayBeALink(t *testing.T) {
	real, link := t.TempDir(), t.TempDir()+"/link"
	write(t, real+"/given", "given")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, func(o *Options) { o.Root = link })
	l := &layer{kind: copied, root: link, folder: t.TempDir()}
	if err := l.fill(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, l.folder+"/given"); got != "given" {
		t.Errorf("the copy has %q", got)
	}
	write(t, l.folder+"/mine", "mine")
	if got := read(t, real+"/mine"); got != "" {
		t.Errorf("before the end of the run the folder has %q", got)
	}
	m.layers["j-worker-0/main"] = l
	if err := m.CopyBack("j-worker-0"); err != nil {
		t.Error(err)
	}
	if got := read(t, real+"/mine"); got != "mine" {
		t.Errorf("the folder has %q", got)
	}
	if is, err := os.Lstat(link); err != nil || is.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
}

// A folder that is too large is not copied: the run shows why files stay.
func TestALargeFolderIsShared(t *testing.T) {
	root, said := t.TempDir(), ""
	write(t, root+"/large", "")
	if err := os.Truncate(root+"/large", mostCopied+1); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t, func(o *Options) { o.Root, o.Say = root, func(text string) { said += text } })
	m.layersFolder = root + "/large/within" // in a file there is room for no layer
	if kind := m.kindOf(&layer{root: root}); kind != shared || !strings.Contains(said, "more than 1 GB") || !strings.Contains(said, root) {
		t.Errorf("kind %d, %q", kind, said)
	}
}
