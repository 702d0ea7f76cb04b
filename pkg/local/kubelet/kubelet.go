package kubelet

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
)

// User is the client as which the kubelet writes.
const User = "kubelet"

// Options are what the kubelet needs of its surroundings.
type Options struct {
	Server *server.Server
	// Folder is the folder of the run, with the files of pods, and the claims without a folder of their own.
	Folder string
	// Root is the folder of this machine with the program. Each life of a container has its own layer over it. Empty for none.
	Root string
	// Say shows what the run does with the root.
	Say func(text string)
	// ConfigMaps are the files' ConfigMaps by name, Claims the folders of claims by name, and Paths the user's replacements of paths.
	ConfigMaps map[string]map[string]string
	Claims     map[string]string
	Paths      Paths
	// Devices are the GPUs of this machine, as CUDA_VISIBLE_DEVICES names them. Without any, requests of GPUs are ignored.
	Devices []string
	// Command is the command of containers without one.
	Command []string
	// Post runs a function in the loop of the caller.
	Post func(func())
	// Address returns the address of a pod. Translate returns the value of a variable of its containers, or a word of their commands without
	// the name of a variable, with addresses in the place of names of hosts.
	Address   func(pod *corev1.Pod) string
	Translate func(pod *corev1.Pod, variable, text string) string
	// Log returns the name of the log of a container's present life. Line takes each line of it, from any goroutine.
	Log  func(pod *corev1.Pod, container string) string
	Line func(pod *corev1.Pod, container, text string)
}

// Kubelet runs the pods of all nodes.
type Kubelet struct {
	Options
	pods map[types.UID]*pod
	free []string
	// starts counts containers, for their ids.
	starts int
	// kinds are the kinds of layers by root, layers the present ones by host name and container; their files are in layersFolder.
	kinds        map[string]layering
	layers       map[string]*layer
	layersFolder string
}

// New returns a kubelet without pods.
func New(o Options) *Kubelet {
	k := &Kubelet{Options: o, pods: map[types.UID]*pod{}, free: slices.Clone(o.Devices), kinds: map[string]layering{}, layers: map[string]*layer{}}
	k.layersFolder = filepath.Join(o.Folder, "layers")
	if o.Root != "" && isWithin(o.Root, o.Folder) { // the kernel does not mount a layer over its own files
		k.layersFolder, _ = os.MkdirTemp("", "tj-layers-") // without it, lives have no layers
	}
	return k
}

// Sync brings the processes of a pod and its object together. It must be called after each change of a pod that has a node.
func (k *Kubelet) Sync(is *corev1.Pod) {
	p := k.pods[is.UID]
	if p == nil {
		if isOver(is) && is.DeletionTimestamp == nil {
			return
		}
		p = &pod{kubelet: k, folder: filepath.Join(k.Folder, "pods", is.Name)}
		k.pods[is.UID] = p
	}
	if !p.off {
		p.Pod = is.DeepCopy()
		p.Status.PodIP, p.Status.HostIP = k.Address(is), hostIP
		p.sync()
	}
}

// Gone ends the processes of a pod whose object was removed.
func (k *Kubelet) Gone(uid types.UID) {
	if p := k.pods[uid]; p != nil {
		p.off, p.gone = true, true
		p.end()
		k.forget(p)
	}
}

// forget forgets a pod whose object is gone, once its processes are.
func (k *Kubelet) forget(p *pod) {
	if p.gone && p.running() == 0 {
		p.release()
		delete(k.pods, p.UID)
	}
}

// TurnOff ends the processes of all pods on a node at once, and writes no status of these pods any more.
func (k *Kubelet) TurnOff(node string) {
	for _, p := range k.pods {
		if p.Spec.NodeName == node {
			p.off = true
			p.end()
		}
	}
}

// Stop ends all processes: by SIGTERM, and by SIGKILL after this grace period or the pod's, whichever is shorter. It writes no status.
func (k *Kubelet) Stop(grace time.Duration) {
	for _, p := range k.pods {
		p.off = true
		own := time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
		p.stop(min(grace, own))
	}
}

// Running returns how many processes run.
func (k *Kubelet) Running() int {
	n := 0
	for _, p := range k.pods {
		n += p.running()
	}
	return n
}

// Process returns the process of a container of the pod that runs, for a fault; ok is false if none runs.
func (k *Kubelet) Process(uid types.UID, container string) (f Fault, ok bool) {
	p := k.pods[uid]
	if p == nil || p.off {
		return Fault{}, false
	}
	for _, c := range p.containers {
		if c.Name == container && c.process != nil && !c.process.stopped {
			return Fault{c.process}, true
		}
	}
	return Fault{}, false
}

func (k *Kubelet) write(p *pod, status *corev1.PodStatus) {
	is := p.DeepCopy()
	is.Status, is.ResourceVersion = *status, ""
	_, _ = k.Server.Do(&server.Request{User: User, Verb: server.Update, Kind: server.Pods, Status: true,
		Key: client.ObjectKeyFromObject(is), Object: is}) // a pod that is gone has no status
}

// remove removes the object of a pod whose containers have ended.
func (k *Kubelet) remove(p *pod) {
	_, _ = k.Server.Do(&server.Request{User: User, Verb: server.Delete, Kind: server.Pods, Key: client.ObjectKeyFromObject(p.Pod),
		Delete: metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &p.UID}}})
}

// take returns so many devices; ok is false if fewer are free. Without devices on this machine none is needed.
func (k *Kubelet) take(n int) (devices []string, ok bool) {
	switch {
	case len(k.Devices) == 0:
		return nil, true
	case n > len(k.free):
		return nil, false
	}
	devices, k.free = slices.Clone(k.free[:n]), slices.Clone(k.free[n:])
	return devices, true
}

// give returns devices, and starts what waits for them.
func (k *Kubelet) give(devices []string) {
	if len(devices) == 0 {
		return
	}
	k.free = append(k.free, devices...)
	slices.Sort(k.free)
	for _, p := range k.pods {
		if !p.off && p.Pod != nil {
			p.sync()
		}
	}
}
