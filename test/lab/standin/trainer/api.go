package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"time"
)

const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// askAPI asks the API server, as the pod's service account, what it serves.
func askAPI() {
	authority, _ := os.ReadFile(account + "ca.crt")
	token, err := os.ReadFile(account + "token")
	if err != nil {
		say("has no service account: %v", err)
		return
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	address := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequest(http.MethodGet, "https://"+address+"/api", nil)
	if err != nil {
		say("cannot ask the API server: %v", err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := client.Do(request)
	if err != nil {
		say("cannot ask the API server: %v", err)
		return
	}
	answer.Body.Close()
	say("the API server answers %s", answer.Status)
}
