package cluster

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func (d Dir) restConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", d.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the lab's kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 500, 1000
	return config, nil
}

func (d Dir) client() (kubernetes.Interface, error) {
	config, err := d.restConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
