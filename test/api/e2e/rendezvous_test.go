//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/test/sim/ledger"
)

// dnsName returns the name under which the pod's Service publishes it.
func dnsName(pod *corev1.Pod) string {
	return pod.Spec.Hostname + "." + pod.Spec.Subdomain + "." + pod.Namespace + ".svc"
}

// naming says whose names DNS is to know.
func naming(names v1alpha1.DNSNames) jobOption {
	return func(job *v1alpha1.TrainingJob) { job.Spec.Network = &v1alpha1.Network{DNSNames: names} }
}

// reachable returns the names of the pods that the job's Service leads to, sorted.
func (j *submitted) reachable() []string {
	GinkgoHelper()
	var found discoveryv1.EndpointSliceList
	Expect(kube.List(here.ctx, &found, client.InNamespace(here.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: j.name})).To(Succeed())
	var names []string
	for _, slice := range found.Items {
		for _, endpoint := range slice.Endpoints {
			names = append(names, endpoint.TargetRef.Name)
		}
	}
	slices.Sort(names)
	return names
}

var _ = Describe("Rendezvous", func() {
	It("takes names for those whom others look for: the leader of a collective that meets there, or all", func() {
		leader, all, servers := submit(pytorch("leader", master(), workers(2))), submit(pytorch("all", naming(v1alpha1.DNSNamesAll), workers(2))), submit(tensorflow("ps", ps(1), workers(1)))
		for _, j := range []*submitted{leader, all, servers} {
			j.runs(0, 0)
		}
		Eventually(leader.reachable).Should(Equal([]string{"leader-master-0"}))
		Eventually(all.reachable).Should(Equal([]string{"all-worker-0", "all-worker-1"}))
		Eventually(servers.reachable).Should(Equal([]string{"ps-ps-0", "ps-worker-0"}))
		leader.exits(1, "worker-1")
		leader.runs(1, 1)
		Eventually(leader.reachable).Should(Equal([]string{"leader-master-0-a1r0"}))
		leader.suspend()
		leader.becomes("it is suspended", func(v *view) bool { return v.isTrue(v1alpha1.ConditionSuspended) && len(v.pods) == 0 })
		leader.change(naming(v1alpha1.DNSNamesAll))
		leader.resume()
		leader.runs(1, 1)
		Eventually(leader.reachable).Should(HaveLen(3))
	})

	// #1763: TF_CONFIG of chief and evaluator had an empty cluster.
	It("of TensorFlow: TF_CONFIG names every pod's address and is whole for chief and evaluator too #1763", promise, func() {
		v := submit(everyRole()).runs(0, 0)
		for i := range v.pods {
			is, _ := ledger.LifeOf("t", v.pods[i].Name)
			var config struct {
				Cluster map[string][]string
				Task    struct {
					Type  string
					Index int
				}
			}
			Expect(json.Unmarshal([]byte(ledger.Env(&v.pods[i])["TF_CONFIG"]), &config)).To(Succeed())
			Expect(config.Task.Type).To(Equal(is.Role))
			Expect(config.Task.Index).To(Equal(is.Index))
			Expect(config.Cluster).To(HaveLen(3), "chief, ps and worker; an evaluator is in no cluster")
			for role, addresses := range config.Cluster {
				for index, address := range addresses {
					host, _, _ := strings.Cut(address, ":")
					Expect(host).To(Equal(dnsName(v.pod(fmt.Sprintf("%s-%d", role, index)))))
				}
			}
			Expect(config.Cluster["chief"]).To(HaveLen(1))
			Expect(config.Cluster["ps"]).To(HaveLen(2))
			Expect(config.Cluster["worker"]).To(HaveLen(3))
		}
	})

	// #2800 #3277 #4076: no MASTER_ADDR without a Master, RDZV variables missing.
	DescribeTable("of PyTorch: one master, one world, unique ranks #2800 #3277 #4076", promise, func(leader string, world int, options ...jobOption) {
		v := submit(pytorch("p", options...)).runs(0, 0)
		ranks := map[string]bool{}
		for i := range v.pods {
			values := ledger.Env(&v.pods[i])
			Expect(values["MASTER_ADDR"]).To(Equal(dnsName(v.pod(leader))))
			Expect(values["MASTER_PORT"]).NotTo(BeEmpty())
			Expect(values["WORLD_SIZE"]).To(Equal(fmt.Sprint(world)))
			Expect(values["PET_NNODES"]).To(Equal(fmt.Sprint(world)))
			Expect(values["PET_NODE_RANK"]).To(Equal(values["RANK"]))
			Expect(values[v1alpha1.EnvAttempt]).To(Equal("0"))
			ranks[values["RANK"]] = true
		}
		Expect(ranks).To(HaveLen(world))
		Expect(ledger.Env(v.pod(leader))["RANK"]).To(Equal("0"))
	},
		Entry("with a master", "master-0", 4, master(), workers(3)),
		Entry("without one, worker 0 is it", "worker-0", 3, workers(3)),
	)

	It("of elastic PyTorch: bounds and a rendezvous at worker 0 #3277", func() {
		v := submit(pytorch("p", elastic(2, 5), workers(3))).runs(0, 0)
		for i := range v.pods {
			values := ledger.Env(&v.pods[i])
			Expect(values["PET_NNODES"]).To(Equal("2:5"))
			Expect(values["PET_RDZV_BACKEND"]).To(Equal("c10d"))
			Expect(values["PET_RDZV_ENDPOINT"]).To(HavePrefix(dnsName(v.pod("worker-0"))))
			Expect(values["PET_RDZV_ID"]).NotTo(BeEmpty())
		}
	})

	It("of JAX: one coordinator, process ids from 0", promise, func() {
		v := submit(jax("x", workers(3))).runs(0, 0)
		for i := range v.pods {
			values := ledger.Env(&v.pods[i])
			is, _ := ledger.LifeOf("x", v.pods[i].Name)
			Expect(values["JAX_COORDINATOR_ADDRESS"]).To(HavePrefix(dnsName(v.pod("worker-0"))))
			Expect(values["JAX_NUM_PROCESSES"]).To(Equal("3"))
			Expect(values["JAX_PROCESS_ID"]).To(Equal(fmt.Sprint(is.Index)))
		}
	})

	It("after a whole-job restart is that of the new attempt", func() {
		j := submit(pytorch("p", workers(2)))
		j.runs(0, 0)
		j.exits(137, "worker-1")
		v := j.runs(1, 1)
		for i := range v.pods {
			if ledger.CanRun(&v.pods[i]) {
				Expect(ledger.Env(&v.pods[i])).To(HaveKeyWithValue(v1alpha1.EnvAttempt, "1"))
			}
		}
	})

	It("lets the user's own variables win and says so", func() {
		j := submit(tensorflow("t", chief(setting("TF_CONFIG", "mine"), setting("OTHER", "1")), workers(1)))
		v := j.runs(0, 0)
		Expect(ledger.Env(v.pod("chief-0"))).To(HaveKeyWithValue("TF_CONFIG", "mine"))
		var set int
		for _, variable := range v.pod("chief-0").Spec.Containers[0].Env {
			if variable.Name == "TF_CONFIG" {
				set++
			}
		}
		Expect(set).To(Equal(1))
		Expect(ledger.Env(v.pod("worker-0"))["TF_CONFIG"]).To(ContainSubstring("cluster"))
		j.tells(v1alpha1.EventEnvConflict, "Chief", "TF_CONFIG")
		j.told(v1alpha1.EventEnvConflict, 1)
	})

	// #1030: one Service per replica. pytorch-operator#352: an init image that cannot be pulled behind a firewall.
	It("needs one headless Service per job and no init container #1030 pytorch-operator#352", func() {
		j := submit(everyRole())
		v := j.runs(0, 0)
		var services corev1.ServiceList
		Expect(kube.List(here.ctx, &services, client.InNamespace(here.namespace))).To(Succeed())
		Expect(services.Items).To(HaveLen(1))
		Expect(services.Items[0].Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
		Expect(services.Items[0].Spec.PublishNotReadyAddresses).To(BeTrue())
		for i := range v.pods {
			Expect(v.pods[i].Spec.InitContainers).To(BeEmpty())
			for key, value := range services.Items[0].Spec.Selector {
				Expect(v.pods[i].Labels).To(HaveKeyWithValue(key, value))
			}
		}
	})
})
