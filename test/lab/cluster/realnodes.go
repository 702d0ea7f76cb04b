package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/trainingjob/operator/test/lab/realnode"
)

// waitForRealNode waits until the kubelet of this boot has spoken and the scheduler may use the node. A node that was away for
// a moment only has been ready all the time, by what the former kubelet said.
func waitForRealNode(ctx context.Context, client kubernetes.Interface, booted realnode.Node) error {
	if err := retry(ctx, func() (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, booted.Name, metav1.GetOptions{})
		return err == nil && node.Status.NodeInfo.BootID == booted.BootID && isReady(*node), err
	}); err != nil {
		return fmt.Errorf("waiting for node %s to be ready (%s/root/var/log/kubelet.log may say why not): %w", booted.Name, booted.Dir, err)
	}
	return nil
}

// setGPUs gives a node GPUs that no device plug-in stands for. A kubelet that starts takes them away: it is to be called after each
// boot.
func setGPUs(ctx context.Context, client kubernetes.Interface, name string, gpus int) error {
	if gpus == 0 {
		return nil
	}
	// The kubelet would follow the capacity with the allocatable ones some seconds later.
	patch := fmt.Appendf(nil, `{"status": {"capacity": {"nvidia.com/gpu": "%d"}, "allocatable": {"nvidia.com/gpu": "%d"}}}`, gpus, gpus)
	if _, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("giving node %s GPUs: %w", name, err)
	}
	return nil
}
