//go:build e2e

package api_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/trainingjob/operator/test/api/testbed"
)

// It is started with the rights of the overlay for some namespaces, among them those to ask who calls, and those alone.
func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	own := namespace(t, nil)
	objects := rendered(t, someNamespaces)
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: operatorName, Namespace: own}
	role := find[rbacv1.ClusterRole](t, objects, "ClusterRole", operatorName+"."+ownNamespace)
	binding := find[rbacv1.RoleBinding](t, objects, "RoleBinding", operatorName)
	role.Name, binding.Namespace, binding.RoleRef.Name, binding.Subjects = own, own, own, []rbacv1.Subject{account}
	create(t, role)
	create(t, binding)
	bindInCluster(t, find[rbacv1.ClusterRole](t, objects, "ClusterRole", "trainingjob-metrics-auth"), own+"-auth", account)
	reader, stranger := serviceAccount(t, own, "reader"), serviceAccount(t, own, "stranger")
	bindInCluster(t, find[rbacv1.ClusterRole](t, objects, "ClusterRole", "trainingjob-metrics-reader"), own+"-reader",
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "reader", Namespace: own})

	address := freeAddress(t)
	user := "system:serviceaccount:" + own + ":" + operatorName
	operator, err := testbed.StartOperator("../../bin/operator", kubeconfigOf(t, user), own, t.Output(), "--watch-nodes=false", "--metrics-bind-address", address)
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Kill()
	url := "https://" + address + "/metrics"
	const reconciles = "controller_runtime_reconcile"
	for _, c := range []struct {
		who, token string
		want       int
	}{
		{"who may read them", reader, http.StatusOK},
		{"who may not", stranger, http.StatusForbidden},
		{"nobody in particular", "", http.StatusUnauthorized},
		{"somebody with a false token", "false", http.StatusInternalServerError}, // as controller-runtime answers
	} {
		var got int
		var body string
		err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			got, body = scrape(ctx, url, c.token)
			if got == http.StatusOK { // the server listens before the controller has registered its own
				return c.want == http.StatusOK && strings.Contains(body, reconciles), nil
			}
			return got == c.want, nil
		})
		if err != nil {
			t.Errorf("%s gets %d %.200s, want %d", c.who, got, body, c.want)
		}
		if c.want != http.StatusOK && strings.Contains(body, reconciles) {
			t.Errorf("%s sees metrics", c.who)
		}
	}
}

// bindInCluster creates the cluster role under another name until the test ends, and binds the subject to it.
func bindInCluster(t *testing.T, role *rbacv1.ClusterRole, name string, to rbacv1.Subject) {
	t.Helper()
	role.Name = name
	create(t, role)
	create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{to},
	})
}

// serviceAccount creates a service account and returns a token of it.
func serviceAccount(t *testing.T, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	create(t, account)
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatalf("a token of %s: %v", name, err)
	}
	return request.Status.Token
}

// scrape asks for the URL with the token, and returns the answer; 0 and the error if there is none.
func scrape(ctx context.Context, url, token string) (status int, body string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	caller := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //#nosec G402 -- the operator signs its certificate itself
	defer caller.CloseIdleConnections()
	response, err := caller.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Sprintf("reading the answer: %v", err)
	}
	return response.StatusCode, string(text)
}
