package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// waitForRealNode waits until the scheduler may use the node.
func waitForRealNode(ctx context.Context, client kubernetes.Interface, name string) error {
	if err := retry(ctx, func() (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		return err == nil && isReady(*node), err
	}); err != nil {
		return fmt.Errorf("waiting for node %s to be ready (the log of its kubelet, %s/root/var/log/kubelet.log, may say why not): %w", name, name, err)
	}
	return nil
}

// setGPUs gives a node GPUs that no device plug-in stands for. A kubelet that starts takes them away: it is to be called after each
// boot.
func setGPUs(ctx context.Context, client kubernetes.Interface, name string, gpus int) error {
	if gpus == 0 {
		return nil
	}
	patch := fmt.Appendf(nil, `{"status": {"capacity": {"nvidia.com/gpu": "%d"}}}`, gpus)
	if err := retry(ctx, func() (bool, error) {
		_, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if apierrors.IsNotFound(err) {
			return false, err // it has not registered yet
		}
		return true, err
	}); err != nil {
		return fmt.Errorf("giving node %s GPUs: %w", name, err)
	}
	return nil
}
