package cluster

import (
	"strings"
	"testing"
)

const manifests = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: them, namespace: theirs}
---
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: theirs}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lead, namespace: theirs}
`

const deployment = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, namespace: theirs}
spec: {template: {spec: {serviceAccountName: them}}}
`

func TestTheOperatorsRightsAreThoseOfItsAccount(t *testing.T) {
	got, err := readRights([]byte(manifests + deployment))
	if err != nil {
		t.Fatal(err)
	}
	if want := (account{"theirs", "them"}); got.account != want {
		t.Errorf("the account is %v, want %v", got.account, want)
	}
	var kinds []string
	for _, object := range got.objects {
		kinds = append(kinds, object.GetKind())
	}
	if all := strings.Join(kinds, " "); all != "ServiceAccount Role" {
		t.Errorf("the lab applies %q: pods of a Deployment would run on fake nodes only", all)
	}
}

func TestManifestsThatNameNoAccountAreRefused(t *testing.T) {
	for name, text := range map[string]string{"none": manifests, "two": manifests + deployment + deployment} {
		if _, err := readRights([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
