package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// writeCredentials makes all that the components prove themselves with: the API server's
// certificate, the key that signs service account tokens, and one token for an
// administrator, together with the kubeconfig that holds it. It returns the token. A lab with real nodes has more (real.go).
func (d Dir) writeCredentials(state State) (string, error) {
	address := net.ParseIP(state.apiServerHost())
	certificate, key, err := cert.GenerateSelfSignedCertKey(address.String(), []net.IP{address},
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"})
	if err != nil {
		return "", fmt.Errorf("making the API server's certificate: %w", err)
	}
	signer, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", fmt.Errorf("making the service account key: %w", err)
	}
	signerPEM, err := keyutil.MarshalPrivateKeyToPEM(signer)
	if err != nil {
		return "", fmt.Errorf("encoding the service account key: %w", err)
	}
	token := newToken()
	tokens := token + `,lab-admin,lab-admin,"system:masters"` + "\n"
	for name, content := range map[string][]byte{
		"apiserver.crt":        certificate,
		"apiserver.key":        key,
		"service-accounts.key": signerPEM,
		"tokens.csv":           []byte(tokens),
	} {
		if err := os.WriteFile(d.file(name), content, 0o600); err != nil {
			return "", fmt.Errorf("writing credentials: %w", err)
		}
	}
	if err := clientcmd.WriteToFile(kubeconfig(state, certificate, token), d.kubeconfig()); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return token, nil
}

func newToken() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	return hex.EncodeToString(random)
}

func kubeconfig(state State, authority []byte, token string) clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{
		Server:                   "https://" + state.apiServer(),
		CertificateAuthorityData: authority,
	}
	config.AuthInfos["lab"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	config.CurrentContext = "lab"
	return *config
}
