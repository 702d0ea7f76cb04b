package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// probeName is the name of what is made and deleted to see whether controllers are at work.
const probeName = "lab-probe"

// waitForControllers waits until the garbage collector collects, which it does once it knows the objects of all CRDs, and
// the quota controller counts these. The health of the controller manager says neither.
func (l *lab) waitForControllers(ctx context.Context) error {
	client, err := l.dir.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := waitForGarbageCollector(ctx, client); err != nil {
		return fmt.Errorf("waiting for the garbage collector: %w", err)
	}
	if err := waitForQuotas(ctx, client, l.counted); err != nil {
		return fmt.Errorf("waiting for the quota controller to count %v: %w", l.counted, err)
	}
	l.say("the garbage collector and the quota controller are at work")
	return nil
}

// waitForGarbageCollector deletes an object and waits until its dependent is gone. The namespace default may not be there
// yet.
func waitForGarbageCollector(ctx context.Context, client kubernetes.Interface) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	var owner *corev1.ConfigMap
	if err := retry(ctx, func() (done bool, err error) {
		owner, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: probeName}}, metav1.CreateOptions{})
		return err == nil, err
	}); err != nil {
		return err
	}
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: probeName + "-dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: ptr.To(true)},
	}}}
	if _, err := maps.Create(ctx, dependent, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, owner.Name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}); err != nil {
		return err
	}
	return retry(ctx, func() (done bool, err error) {
		_, err = maps.Get(ctx, owner.Name, metav1.GetOptions{}) // which goes after its dependent
		return apierrors.IsNotFound(err), err
	})
}

// waitForQuotas makes a quota on all of the resources and waits until each has been counted.
func waitForQuotas(ctx context.Context, client kubernetes.Interface, counted []corev1.ResourceName) error {
	quotas := client.CoreV1().ResourceQuotas(metav1.NamespaceDefault)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: probeName}}
	quota.Spec.Hard = corev1.ResourceList{}
	for _, name := range append(counted, "count/configmaps") {
		quota.Spec.Hard[name] = resource.MustParse("1000")
	}
	if _, err := quotas.Create(ctx, quota, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := retry(ctx, func() (done bool, err error) {
		now, err := quotas.Get(ctx, quota.Name, metav1.GetOptions{})
		return err == nil && len(now.Status.Used) == len(quota.Spec.Hard), err
	}); err != nil {
		return err
	}
	return quotas.Delete(ctx, quota.Name, metav1.DeleteOptions{})
}

// retry calls the function until it is done, and returns its last error if there is no time left.
func retry(ctx context.Context, try func() (done bool, err error)) error {
	for {
		done, err := try()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
