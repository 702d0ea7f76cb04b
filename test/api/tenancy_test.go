//go:build e2e

package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/test/api/testbed"
)

// ownNamespace is the operator's own namespace in overlays/namespaces.
const ownNamespace = "trainingjob-training"

func TestTheOperatorOfSomeNamespacesRunsInAnotherOne(t *testing.T) {
	objects := rendered(t, someNamespaces)
	var teams []string
	for _, object := range objects {
		isOfTeam := object.GetName() == operatorName && object.GetKind() == "RoleBinding"
		switch got := object.GetNamespace(); {
		case isOfTeam:
			teams = append(teams, got)
			binding := find[rbacv1.RoleBinding](t, []*unstructured.Unstructured{object}, "RoleBinding", operatorName)
			if of := binding.Subjects[0]; of.Name != operatorName || of.Namespace != ownNamespace {
				t.Errorf("the role in %s is bound to %v", got, of)
			}
		case got != "" && got != ownNamespace:
			t.Errorf("%s %s is in namespace %s, want the operator's", object.GetKind(), object.GetName(), got)
		}
	}
	args := find[appsv1.Deployment](t, objects, "Deployment", operatorName).Spec.Template.Spec.Containers[0].Args
	if want := "--namespaces=" + strings.Join(teams, ","); len(teams) < 2 || !slices.Contains(args, want) {
		t.Errorf("the operator runs with %q, want %s", args, want)
	}
	// Two installations must not take a binding from each other: only those of roles for people may have the same name.
	for _, object := range objects {
		if object.GetKind() == "ClusterRoleBinding" && object.GetName() != "trainingjob-metrics-auth."+ownNamespace {
			t.Errorf("ClusterRoleBinding %s does not have the operator's namespace in its name", object.GetName())
		}
	}
}

// It is started here with the rights of the overlay, in two namespaces that exist for that, and those alone.
func TestTheOperatorOfSomeNamespacesLeadsAndGetsReadyWithTheseRights(t *testing.T) {
	own, red, blue := namespace(t, nil), namespace(t, nil), namespace(t, nil)
	objects := rendered(t, someNamespaces)
	elects := find[rbacv1.Role](t, objects, "Role", "trainingjob-leader-election")
	runs := find[rbacv1.ClusterRole](t, objects, "ClusterRole", operatorName+"."+ownNamespace)
	runs.Name, elects.Namespace = own, own
	create(t, elects)
	create(t, runs)
	for in, role := range map[string]rbacv1.RoleRef{
		own: {APIGroup: rbacv1.GroupName, Kind: "Role", Name: elects.Name},
		red: {APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: runs.Name}, blue: {APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: runs.Name},
	} {
		create(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: operatorName}, RoleRef: role,
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: operatorName, Namespace: own}},
		})
	}
	user := "system:serviceaccount:" + own + ":" + operatorName
	expectPodsIn(t, user, map[string]bool{red: true, blue: true, own: false, "default": false})

	health := freeAddress(t)
	operator, err := testbed.StartOperator("../../bin/operator", kubeconfigOf(t, user), red+","+blue, t.Output(), "--watch-nodes=false",
		"--leader-elect", "--leader-election-namespace", own, "--health-probe-bind-address", health)
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Kill()
	isReady := func(ctx context.Context) (bool, error) {
		var lease coordinationv1.Lease
		err := admin.Get(ctx, client.ObjectKey{Namespace: own, Name: operatorName}, &lease)
		return err == nil && lease.Spec.HolderIdentity != nil && answers(ctx, "http://"+health+"/readyz"), nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 30*time.Second, true, isReady); err != nil {
		t.Errorf("the operator did not get ready: %v", err)
	}
}

// expectPodsIn fails unless user may list the pods of just these namespaces. Roles take a moment.
func expectPodsIn(t *testing.T, user string, want map[string]bool) {
	t.Helper()
	c, err := connectAs(user)
	if err != nil {
		t.Fatal(err)
	}
	for ns, allowed := range want {
		sentence := "pods is forbidden"
		if allowed {
			sentence = ""
		}
		eventually(t, "the pods of "+ns, func() error { return c.List(t.Context(), &corev1.PodList{}, client.InNamespace(ns)) }, sentence)
	}
}

// kubeconfigOf returns the path of a kubeconfig with which the API server takes its user for another one.
func kubeconfigOf(t *testing.T, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := testbed.WriteKubeconfigAs(path, os.Getenv("KUBECONFIG"), user); err != nil {
		t.Fatal(err)
	}
	return path
}

// freeAddress returns an address of this machine that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// answers reports whether the URL answers 200.
func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}

func TestOnlyLabelledNamespacesReachTheMetrics(t *testing.T) {
	for name, folder := range map[string]string{operatorName: base, adapterName: kueue} {
		policy := find[networkingv1.NetworkPolicy](t, rendered(t, folder), "NetworkPolicy", name)
		if len(policy.Spec.Ingress) != 1 || len(policy.Spec.Ingress[0].From) != 1 {
			t.Fatalf("%s lets in %v", name, policy.Spec.Ingress)
		}
		from := policy.Spec.Ingress[0].From[0].NamespaceSelector
		if from == nil || from.MatchLabels["metrics"] != "enabled" {
			t.Errorf("%s lets in %v", name, from)
		}
		// What the API server listens at: kubeadm 6443, managed clusters 443, minikube 8443, MicroK8s 16443.
		for _, port := range []int32{443, 6443, 8443, 16443} {
			if !allowsOut(policy, port) {
				t.Errorf("%s cannot reach an API server at port %d", name, port)
			}
		}
	}
}

func allowsOut(policy *networkingv1.NetworkPolicy, port int32) bool {
	for _, rule := range policy.Spec.Egress {
		for _, p := range rule.Ports {
			if p.Port != nil && *p.Port == intstr.FromInt32(port) {
				return true
			}
		}
	}
	return false
}
