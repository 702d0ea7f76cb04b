package local

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/trainingjob/operator/pkg/job/state"
	"github.com/trainingjob/operator/pkg/local/folder"
)

// show shows the job and its pods, if they have changed.
func (r *run) show() {
	version := fmt.Sprint(r.server.Version(), r.operator.reads.Seen(r.operator.job).Page.Read)
	if version == r.shown {
		return
	}
	r.shown = version
	r.Screen.Show(r.operator.withProgress(r.job()), r.pods())
	r.saves = state.Earliest(r.saves, time.Now().Add(saveWithin))
}

// saveWithin is how long changes are gathered before they are in the folder.
const saveWithin = 100 * time.Millisecond

// save writes what has changed, when it is due.
func (r *run) save() error {
	if r.saves.IsZero() || time.Now().Before(r.saves) {
		return nil
	}
	r.saves = time.Time{}
	return r.write(os.Getpid())
}

func (r *run) write(process int) error {
	s := &folder.State{Process: process, Job: r.operator.withProgress(r.job()), Events: r.result.Events}
	for _, pod := range r.pods() {
		s.Pods = append(s.Pods, *pod)
	}
	return folder.Write(r.Folder, s)
}

// end removes all files but the logs and the last state.
func (r *run) end() error {
	close(r.over)
	r.operator.reads.Forget(r.operator.job)
	r.result.Job = r.job()
	for _, pod := range r.pods() {
		r.result.Pods = append(r.result.Pods, *pod)
	}
	if err := r.kubelet.CopyBack(state.HostName(r.Job.Name, state.Leader(&r.Job.Spec))); err != nil {
		r.Screen.Say("files", "not all were copied back: "+err.Error())
	}
	for _, name := range []string{"pods", "claims"} {
		_ = os.RemoveAll(filepath.Join(r.Folder, name)) // a file that another user made in it stays
	}
	return r.write(0)
}
