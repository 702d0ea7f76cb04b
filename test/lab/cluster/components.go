package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/trainingjob/operator/test/lab/process"
)

// component is a program of the lab and how it says that it is ready.
type component struct {
	process.Program
	health process.Health
}

// nativeGangs switches on, or leaves off as Kubernetes 1.37 does by default, what it has of scheduling.k8s.io: PodGroups
// (beta), their topology constraints and their own preemption policy (both alpha).
func nativeGangs(state State) []string {
	if state.WithoutNativeGangs {
		return nil
	}
	return []string{"--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,PodGroupPreemptionPolicy=true"}
}

// clientSpeed lifts the clients' own limits (20 to 50 requests a second by default), which
// a job of a thousand pods would measure instead of the operator.
var clientSpeed = []string{"--kube-api-qps=500", "--kube-api-burst=1000"}

// startTime is how long a component may take: an API server makes its roles one after the other, which takes 3 s on an idle
// machine and more than a minute where ten processes compete for each core.
const startTime = 3 * time.Minute

// withAPIServer is how many components of the control plane there are when the API server has started.
const withAPIServer = 2

// controlPlane lists the components in the order of their start.
func controlPlane(d Dir, state State, token string) []component {
	return []component{
		etcd(d, state.Ports),
		apiServer(d, state, token),
		controllerManager(d, state),
		scheduler(d, state),
		kwok(d, state.Ports, state.NodeMonitorGracePeriod),
	}
}

func etcd(d Dir, ports Ports) component {
	client, peer := "http://"+local(ports.Etcd), "http://"+local(ports.EtcdPeer)
	return d.own("etcd", client+"/readyz", []string{
		"--data-dir=" + d.file("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--log-level=warn",
		// A lab's data need not survive the machine.
		"--unsafe-no-fsync",
	})
}

func apiServer(d Dir, state State, token string) component {
	gangs := nativeGangs(state)
	if gangs != nil {
		gangs = append(gangs, "--runtime-config=scheduling.k8s.io/v1beta1=true")
	}
	server := d.own("kube-apiserver", "https://"+state.apiServer()+"/readyz", slices.Concat([]string{
		"--etcd-servers=http://" + local(state.Ports.Etcd),
		"--bind-address=" + state.apiServerHost(),
		fmt.Sprintf("--secure-port=%d", state.apiServerPort()),
		"--tls-cert-file=" + d.file("apiserver.crt"),
		"--tls-private-key-file=" + d.file("apiserver.key"),
		"--token-auth-file=" + d.file("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + d.file("service-accounts.key"),
		"--service-account-signing-key-file=" + d.file("service-accounts.key"),
		// An Endpoints object may not hold a loopback address: without this, an error
		// every ten seconds.
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
		"--audit-policy-file=" + d.file("audit-policy.yaml"),
		"--audit-log-path=" + d.file("audit.log"),
		// In MiB; tests count the file's lines, so it must never be rotated.
		"--audit-log-maxsize=100000",
	}, gangs, forNodes(d, state)))
	server.health.Token = token
	return server
}

// forNodes are the API server's flags that depend on whether there are real nodes.
func forNodes(d Dir, state State) []string {
	if state.Real == nil {
		return []string{"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/16"}
	}
	return []string{
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-cluster-ip-range=" + state.Real.Block.Services().String(),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + d.file("kubelet-client.crt"),
		"--kubelet-client-key=" + d.file("kubelet-client.key"),
	}
}

func controllerManager(d Dir, state State) component {
	ports, grace := state.Ports, state.NodeMonitorGracePeriod
	flags := slices.Concat([]string{
		"--kubeconfig=" + d.kubeconfig(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports.ControllerManager),
		"--service-account-private-key-file=" + d.file("service-accounts.key"),
		"--root-ca-file=" + d.file("apiserver.crt"),
		"--leader-elect=false",
	}, nativeGangs(state), clientSpeed)
	if grace > 0 {
		flags = append(flags,
			"--node-monitor-grace-period="+grace.String(),
			"--node-monitor-period="+min(5*time.Second, max(grace/5, time.Second)).String())
	}
	return d.own("kube-controller-manager", "https://"+local(ports.ControllerManager)+"/healthz", flags)
}

func scheduler(d Dir, state State) component {
	ports := state.Ports
	return d.own("kube-scheduler", "https://"+local(ports.Scheduler)+"/readyz", slices.Concat([]string{
		"--kubeconfig=" + d.kubeconfig(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports.Scheduler),
		"--leader-elect=false",
	}, nativeGangs(state), clientSpeed))
}

func kwok(d Dir, ports Ports, grace time.Duration) component {
	return d.own("kwok", "http://"+local(ports.Kwok)+"/healthz", []string{
		"--kubeconfig=" + d.kubeconfig(),
		"--config=" + d.file("kwok.yaml"),
		"--server-address=" + local(ports.Kwok),
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=" + fakeAnnotation + "=fake",
		"--manage-nodes-with-label-selector=" + deadLabel + "!=true",
		fmt.Sprintf("--node-lease-duration-seconds=%d", leaseSeconds(grace)),
		"--cidr=10.64.0.0/10",
	})
}

// leaseSeconds is how long a node's lease lasts; it is renewed after a quarter of that.
// 40 s are a kubelet's. A shorter grace period wants a shorter lease: a node that renews
// every 10 s would be lost and found again all the time with a grace period of 8 s.
func leaseSeconds(grace time.Duration) int {
	const kubelet = 40
	if grace == 0 {
		return kubelet
	}
	return min(kubelet, max(4, int(grace.Seconds())))
}

// own is a component that this binary itself is when called by that name.
func (d Dir) own(name, healthURL string, flags []string) component {
	return component{
		Program: process.Program{Name: name, Path: d.file("bin/" + name), Args: flags, Log: d.file(name + ".log")},
		health:  process.Health{URL: healthURL, Within: startTime},
	}
}
