package local

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/trainingjob/operator/apis/training/v1alpha1"
	"github.com/trainingjob/operator/pkg/job/framework"
	"github.com/trainingjob/operator/pkg/job/state"
)

// Names gives each replica of a job a loopback address, 127.77.ROLE.INDEX, and puts it in the place of the replica's names in DNS. Many
// programs listen on all addresses, so each replica also needs ports that no other has: where a text has NAME:PORT, the port grows by the
// number of the replica. The leader has number 0, so its ports stay, also where a text has them without a name.
//
// Where each replica listens at a port of the framework, and for XGBoost's tracker, the ports also grow with the attempt. In a cluster a
// new pod has a network of its own; here the connections of the last attempt keep its ports busy for a minute, unless the program sets
// SO_REUSEADDR.
type Names struct {
	job     *v1alpha1.TrainingJob
	roles   []v1alpha1.Role
	first   map[v1alpha1.Role]int
	pattern *regexp.Regexp
	// own are the ports that grow with the attempt, and total is how many replicas there are.
	own   []int32
	total int
	// moved is how many attempts of earlier runs the ports avoid.
	moved int
}

// mostMoves is after how many attempts a port is used again.
const mostMoves = 8

// mostReplicas is how many replicas of a role have addresses.
const mostReplicas = 250

// NewNames returns the names of the job's replicas.
func NewNames(job *v1alpha1.TrainingJob) *Names {
	n := &Names{job: job, roles: job.Spec.Roles(), first: map[v1alpha1.Role]int{}}
	leader := state.Leader(&job.Spec).Role
	order := append([]v1alpha1.Role{leader}, slices.DeleteFunc(slices.Clone(n.roles), func(r v1alpha1.Role) bool { return r == leader })...)
	next := 0
	for _, role := range order {
		n.first[role] = next
		next += size(job, role)
	}
	n.total = next
	if traits := state.TraitsOf(job.Spec.Framework); traits.FindLeader == state.FindAll && traits.Port.Default != 0 { // XGBoost's ranks open ports among themselves, too
		n.own = framework.Ports(job)
	}
	domain := regexp.QuoteMeta("." + job.Name)
	inNamespace := regexp.QuoteMeta("." + job.Namespace)
	n.pattern = regexp.MustCompile(regexp.QuoteMeta(job.Name) + `-([a-z0-9-]+?)-(\d+)` + domain +
		`(?:` + inNamespace + `(?:\.svc(?:\.cluster\.local)?)?)?(?::(\d+))?`)
	return n
}

// size returns how many replicas the role can have.
func size(job *v1alpha1.TrainingJob, role v1alpha1.Role) int {
	n := int(job.Spec.Replicas(role))
	if e := job.Spec.Elastic; e != nil && role == v1alpha1.Worker {
		n = max(n, int(e.MaxReplicas))
	}
	return n
}

// Address returns the address of a pod's replica.
func (n *Names) Address(pod *corev1.Pod) string {
	slot, _, _ := state.ParsePodName(n.job.Name, pod.Name)
	return n.address(slot)
}

func (n *Names) address(slot state.Slot) string {
	return fmt.Sprintf("127.77.%d.%d", slices.Index(n.roles, slot.Role)+1, slot.Index+1)
}

// port returns the replica's own port in the place of one that all replicas have.
func (n *Names) port(slot state.Slot, attempt, port int) int {
	own := port + n.first[slot.Role] + slot.Index
	if slices.Contains(n.own, int32(port)) {
		own += n.total * ((n.moved + attempt) % mostMoves)
	}
	return own
}

// Page returns the address of the progress page of the replica that has an address, for the port of the job's pages. No other loopback
// address is read.
func (n *Names) Page(ip string, port int32) (netip.AddrPort, error) {
	for _, role := range n.roles {
		for i := range size(n.job, role) {
			slot := state.Slot{Role: role, Index: i}
			if address, err := netip.ParseAddr(n.address(slot)); err == nil && address.String() == ip {
				return netip.AddrPortFrom(address, uint16(n.port(slot, 0, int(port)))), nil
			}
		}
	}
	return netip.AddrPort{}, fmt.Errorf("no replica has the address %s", ip)
}

// avoidBusy has the first attempt begin at ports that are free. Ports of a run that ended a moment ago are not.
func (n *Names) avoidBusy() {
	isBusy := func(port int32) bool {
		for number := range n.total {
			if !isFree(int(port) + number + n.total*(n.moved%mostMoves)) {
				return true
			}
		}
		return false
	}
	for n.moved < mostMoves && slices.ContainsFunc(n.own, isBusy) {
		n.moved++
	}
}

// ownPorts are the variables with the port at which their own replica listens, without a name before it.
var ownPorts = []string{"PADDLE_PORT", "LIGHTGBM_LOCAL_LISTEN_PORT", trackerPort, v1alpha1.EnvProgressPort}

// trackerPort is the variable with the port of XGBoost's tracker, which runs beside the leader.
const trackerPort = "DMLC_TRACKER_PORT"

// Replace returns a text of the pod with addresses in the place of names; variable is the name of the variable that it is the value of.
func (n *Names) Replace(pod *corev1.Pod, variable, text string) string {
	attempt, _ := strconv.Atoi(pod.Labels[v1alpha1.LabelAttempt]) // the operator's number
	if slot, _, ok := state.ParsePodName(n.job.Name, pod.Name); ok {
		if variable == trackerPort {
			slot = state.Leader(&n.job.Spec)
		}
		host, port := cutLoopback(text)
		number, err := strconv.Atoi(port)
		if err == nil && (slices.Contains(ownPorts, variable) || host != "" && slices.Contains(n.own, int32(number))) {
			return host + strconv.Itoa(n.port(slot, attempt, number))
		}
	}
	var b strings.Builder
	done := 0
	for _, at := range n.pattern.FindAllStringSubmatchIndex(text, -1) {
		slot, ok := n.slot(text[at[2]:at[3]], text[at[4]:at[5]])
		if !ok || at[0] > 0 && isOfName(text[at[0]-1]) || at[1] < len(text) && at[6] < 0 && isOfName(text[at[1]]) {
			continue
		}
		b.WriteString(text[done:at[0]] + n.address(slot))
		if at[6] >= 0 {
			port, _ := strconv.Atoi(text[at[6]:at[7]]) // digits
			b.WriteString(":" + strconv.Itoa(n.port(slot, attempt, port)))
		}
		done = at[1]
	}
	return b.String() + text[done:]
}

// cutLoopback splits 127.0.0.1:PORT, by which a pod means itself. Without such a host the port is the whole text.
func cutLoopback(text string) (host, port string) {
	const self = "127.0.0.1:"
	if port, found := strings.CutPrefix(text, self); found {
		return self, port
	}
	return "", text
}

// slot returns the replica of a role in lower case and an index.
func (n *Names) slot(role, index string) (state.Slot, bool) {
	i, err := strconv.Atoi(index)
	at := slices.IndexFunc(n.roles, func(r v1alpha1.Role) bool { return strings.EqualFold(string(r), role) })
	if err != nil || at < 0 || i >= size(n.job, n.roles[at]) {
		return state.Slot{}, false
	}
	return state.Slot{Role: n.roles[at], Index: i}, true
}

func isOfName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// Ports returns the ports at which the job's replicas will listen, as far as the framework and spec.progress define them: of the leader if
// they meet there, else of each replica.
func (n *Names) Ports() []int {
	var ports []int
	meets := state.TraitsOf(n.job.Spec.Framework).Meet
	for _, port := range framework.Ports(n.job) {
		for _, role := range n.roles {
			for i := range size(n.job, role) {
				if slot := (state.Slot{Role: role, Index: i}); !meets || slot == state.Leader(&n.job.Spec) {
					ports = append(ports, n.port(slot, 0, int(port)))
				}
			}
		}
	}
	if p := n.job.Spec.Progress; p != nil && p.Port > 0 {
		ports = append(ports, int(p.Port)) // of rank 0; only its page is read again and again
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}
