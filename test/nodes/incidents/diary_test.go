//go:build nodes

package incidents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/trainingjob/operator/test/sim/builder"
)

// diaries is a folder that all nodes share, in which each rank writes down its starts and ends, and holds a lock while it lives: what
// they say is known from the processes themselves and the kernel, and from nobody between.
type diaries struct{ folder string }

// newDiaries makes the folder, and what makes a job's ranks write there.
func newDiaries() (diaries, builder.JobOption) {
	GinkgoHelper()
	name := "diaries-" + namespace
	folder := given.File(filepath.Join("shared", name))
	Expect(os.Mkdir(folder, 0o777)).To(Succeed())
	DeferCleanup(func() {
		if !CurrentSpecReport().Failed() { // else they tell why
			Expect(os.RemoveAll(folder)).To(Succeed())
		}
	})
	mount := everyPod(func(pod *corev1.PodSpec) {
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "diary", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/shared/" + name, Type: ptr.To(corev1.HostPathDirectory)},
		}})
		main := &pod.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "diary", MountPath: "/diary"})
		main.Env = append(main.Env, corev1.EnvVar{Name: "DIARY", Value: "/diary"})
	})
	return diaries{folder}, mount
}

// starts returns the attempts in which the rank has started, in the order of its starts, and how many processes found another one alive.
func (d diaries) starts(rank string) (attempts []string, overlaps int, err error) {
	text, err := os.ReadFile(filepath.Join(d.folder, rank))
	if err != nil {
		return nil, 0, fmt.Errorf("reading a diary: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line) // time, attempt, pod, what
		if len(words) < 4 {
			return nil, 0, fmt.Errorf("the diary of %s says %q", rank, line)
		}
		switch words[3] {
		case "starts":
			attempts = append(attempts, words[1])
		case "overlaps":
			attempts = append(attempts, words[1])
			overlaps++
		}
	}
	return attempts, overlaps, nil
}

// isAlive reports whether a process of the rank lives: whether somebody holds the lock.
func (d diaries) isAlive(rank string) (bool, error) {
	file, err := os.Open(filepath.Join(d.folder, rank))
	if err != nil {
		return false, fmt.Errorf("opening a diary: %w", err)
	}
	defer file.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock) // asks only: a lock of ours would be in a rank's way
	return lock.Type != unix.F_UNLCK, err
}

// allRun reports whether a process of each rank lives that has started in the attempt.
func (d diaries) allRun(job string, ranks int, number int32) bool {
	for rank := range ranks {
		name := workerName(job, rank)
		attempts, _, err := d.starts(name)
		if err != nil || len(attempts) == 0 || attempts[len(attempts)-1] != attempt(number) {
			return false
		}
		if alive, err := d.isAlive(name); err != nil || !alive {
			return false
		}
	}
	return true
}

func workerName(job string, rank int) string { return fmt.Sprintf("%s-worker-%d", job, rank) }
