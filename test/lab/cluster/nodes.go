package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	fakeAnnotation = "kwok.x-k8s.io/node"
	// deadLabel follows the annotation of the same name (stages/node-die.yaml).
	deadLabel  = "lab.trainingjob.dev/dead"
	namePrefix = "gpu-"

	nodesPerRack = 8
	racksPerZone = 4
)

// node returns fake node i: a machine of the usual size for training, with its place.
func node(i, gpus int) *corev1.Node {
	name := namePrefix + strconv.Itoa(i)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("500"),
		"nvidia.com/gpu":      *resource.NewQuantity(int64(gpus), resource.DecimalSI),
	}
	rack := i / nodesPerRack
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{fakeAnnotation: "fake"},
			Labels: map[string]string{
				"type":                        "fake-gpu",
				corev1.LabelHostname:          name,
				corev1.LabelOSStable:          "linux",
				corev1.LabelArchStable:        "amd64",
				corev1.LabelTopologyZone:      fmt.Sprintf("zone-%d", rack/racksPerZone),
				"topology.kubernetes.io/rack": fmt.Sprintf("rack-%d", rack),
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)},
				{Type: corev1.NodeHostName, Address: name},
			},
		},
	}
}

// addNodes creates count nodes from number first on and waits until they can take pods.
func addNodes(ctx context.Context, client kubernetes.Interface, first, count, gpus int) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := first; i < first+count; i++ {
		group.Go(func() error {
			node := node(i, gpus)
			if _, err := client.CoreV1().Nodes().Create(groupCtx, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("creating node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return waitForNodes(ctx, client, first, first+count)
}

// waitForNodes waits until the nodes numbered first to end-1 are ready.
func waitForNodes(ctx context.Context, client kubernetes.Interface, first, end int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for ready := 0; ; {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err == nil {
			ready = countReady(nodes.Items, first, end)
		}
		if ready == end-first {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d new nodes got ready (kwok.log and kube-controller-manager.log may say why): %w",
				ready, end-first, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func countReady(nodes []corev1.Node, first, end int) int {
	ready := 0
	for _, node := range nodes {
		if i, ok := number(node.Name); ok && first <= i && i < end && isReady(node) {
			ready++
		}
	}
	return ready
}

// isReady reports whether the scheduler may use the node: it is Ready, and the controller
// manager has taken the taint away that it was born with.
func isReady(node corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}

// number is the i of gpu-i.
func number(name string) (int, bool) {
	digits, found := strings.CutPrefix(name, namePrefix)
	i, err := strconv.Atoi(digits)
	return i, found && err == nil
}
