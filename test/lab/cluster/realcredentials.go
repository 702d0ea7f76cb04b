package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/trainingjob/operator/test/lab/realnode"
)

// addRealCredentials makes a token for each real node, as a kubelet's own, and the certificate with which the API server
// calls kubelets for logs and exec.
func (d Dir) addRealCredentials(state State) error {
	if state.Real == nil {
		return nil
	}
	tokens, err := os.ReadFile(d.file("tokens.csv"))
	if err != nil {
		return fmt.Errorf("reading the tokens: %w", err)
	}
	for i := range state.Real.Nodes {
		tokens = fmt.Appendf(tokens, "%s,system:node:%s,%s,system:nodes\n", newToken(), realName(i), realName(i))
	}
	authority, certificate, key, err := clientCertificate("kube-apiserver-kubelet-client")
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"tokens.csv": tokens, "kubelet-clients.crt": authority, "kubelet-client.crt": certificate, "kubelet-client.key": key,
	} {
		if err := os.WriteFile(d.file(name), content, 0o600); err != nil {
			return fmt.Errorf("writing credentials: %w", err)
		}
	}
	return nil
}

// clientCertificate makes an authority, and a certificate of it for a client of that name, all in PEM.
func clientCertificate(client string) (authority, certificate, key []byte, err error) {
	authorityKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making the key of an authority: %w", err)
	}
	root, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "lab-kubelet-clients"}, authorityKey)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making an authority: %w", err)
	}
	signer, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making the key of a client: %w", err)
	}
	signed, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: client},
		NotBefore:    root.NotBefore,
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, root, signer.Public(), authorityKey)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("making the certificate of a client: %w", err)
	}
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading the certificate of a client: %w", err)
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(signer)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("encoding the key of a client: %w", err)
	}
	authority, err = cert.EncodeCertificates(root)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("encoding an authority: %w", err)
	}
	certificate, err = cert.EncodeCertificates(parsed)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("encoding the certificate of a client: %w", err)
	}
	return authority, certificate, key, nil
}

// nodeCredentials are those of real node i.
func (d Dir) nodeCredentials(i int, state State) (realnode.Credentials, error) {
	admin, err := d.restConfig()
	if err != nil {
		return realnode.Credentials{}, err
	}
	token, err := d.tokenOf("system:node:" + realName(i))
	if err != nil {
		return realnode.Credentials{}, err
	}
	kubeconfig, err := clientcmd.Write(kubeconfig(state, admin.CAData, token))
	if err != nil {
		return realnode.Credentials{}, fmt.Errorf("encoding the kubeconfig of a node: %w", err)
	}
	authority, err := os.ReadFile(d.file("kubelet-clients.crt"))
	if err != nil {
		return realnode.Credentials{}, fmt.Errorf("reading the authority of the kubelets' clients: %w", err)
	}
	return realnode.Credentials{Kubeconfig: kubeconfig, ClientCA: authority}, nil
}

// tokenOf returns the token of a user of the lab.
func (d Dir) tokenOf(user string) (string, error) {
	content, err := os.ReadFile(d.file("tokens.csv"))
	if err != nil {
		return "", fmt.Errorf("reading the tokens: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Split(line, ","); len(fields) > 1 && fields[1] == user {
			return fields[0], nil
		}
	}
	return "", fmt.Errorf("the lab has no user %s", user)
}
