package world

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/trainingjob/operator/pkg/local/server"
)

// What the scheduler of Kubernetes 1.37 does with native gangs. Source: pkg/scheduler/framework/plugins/gangscheduling.

// scheduleGangs looks once at each group that has pods without a node.
func (w *World) scheduleGangs() {
	members := map[client.ObjectKey][]*corev1.Pod{}
	waits := map[client.ObjectKey]bool{}
	for _, pod := range w.Pods() {
		if name := server.GroupOf(pod); name != "" && !IsOver(pod) && !isGated(pod) { // the scheduler forgets pods that have ended
			key := client.ObjectKey{Namespace: pod.Namespace, Name: name}
			members[key] = append(members[key], pod)
			waits[key] = waits[key] || pod.Spec.NodeName == ""
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(waits), byName) {
		group, _ := w.Server.Get(server.PodGroups, key.Namespace, key.Name).(*schedulingv1beta1.PodGroup)
		if group != nil && waits[key] && (w.Chance == nil || w.Chance.IntN(3) > 0) {
			w.scheduleGang(group, members[key])
		}
	}
}

func byName(a, b client.ObjectKey) int {
	return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
}

// scheduleGang binds the members that have no node, if with them as many as the group's minimum have one; else none. A
// group of which too few pods exist is not looked at, and nobody is told.
func (w *World) scheduleGang(group *schedulingv1beta1.PodGroup, members []*corev1.Pod) {
	minimum := int(group.Spec.SchedulingPolicy.Gang.MinCount)
	if len(members) < minimum {
		return
	}
	var places map[*corev1.Pod]string
	scheduled := 0
	for _, rack := range w.racksFor(group, members) {
		if places, scheduled = w.placesIn(rack, members); scheduled >= minimum {
			break
		}
	}
	if scheduled < minimum {
		w.say("scheduler: %s fits with %d of %d", group.Name, scheduled, minimum)
		clear(places)
		w.tellGroup(group, metav1.ConditionFalse, schedulingv1beta1.PodGroupReasonUnschedulable,
			fmt.Sprintf("minCount (%d) cannot be satisfied: %d scheduled, 0 remaining", minimum, scheduled))
	} else {
		w.tellGroup(group, metav1.ConditionTrue, "Scheduled", "")
	}
	for _, pod := range members {
		switch place := places[pod]; {
		case pod.Spec.NodeName != "":
		case place == "":
			w.tellNoPlace(pod)
		default:
			w.bind(pod, place)
		}
	}
}

// racksFor returns the racks of which the group is to have one: that of the members that have nodes, else each; "" is any node.
func (w *World) racksFor(group *schedulingv1beta1.PodGroup, members []*corev1.Pod) []string {
	if group.Spec.SchedulingConstraints == nil || len(w.Racks) == 0 {
		return []string{""}
	}
	for _, pod := range members {
		if pod.Spec.NodeName != "" {
			return []string{w.Racks[pod.Spec.NodeName]}
		}
	}
	return slices.Compact(slices.Sorted(maps.Values(w.Racks)))
}

// placesIn returns where the members go that have no node, and how many have one then.
func (w *World) placesIn(rack string, members []*corev1.Pod) (places map[*corev1.Pod]string, scheduled int) {
	free := w.free()
	maps.DeleteFunc(free, func(node string, _ int) bool { return rack != "" && w.Racks[node] != rack })
	places = map[*corev1.Pod]string{}
	for _, pod := range members {
		if pod.Spec.NodeName == "" {
			places[pod] = w.placeFor(pod, free)
		}
		if pod.Spec.NodeName != "" || places[pod] != "" {
			scheduled++
		}
	}
	return places, scheduled
}

// tellGroup writes whether the group was placed. One that was once stays so, whatever becomes of it.
func (w *World) tellGroup(group *schedulingv1beta1.PodGroup, status metav1.ConditionStatus, reason, message string) {
	if meta.IsStatusConditionTrue(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled) {
		return
	}
	is := group.DeepCopy()
	meta.SetStatusCondition(&is.Status.Conditions, metav1.Condition{Type: schedulingv1beta1.PodGroupInitiallyScheduled,
		Status: status, Reason: reason, Message: message, LastTransitionTime: w.second()})
	w.must(&server.Request{User: Scheduler, Verb: server.Update, Kind: server.PodGroups, Status: true, Key: client.ObjectKeyFromObject(group), Object: is})
}

// Preempt takes the pod's node for somebody of a higher priority: with the whole gang, if it is disrupted as one.
func (w *World) Preempt(pod *corev1.Pod) {
	group, _ := w.Server.Get(server.PodGroups, pod.Namespace, server.GroupOf(pod)).(*schedulingv1beta1.PodGroup)
	if group == nil || group.Spec.DisruptionMode == nil || group.Spec.DisruptionMode.All == nil {
		w.Drain(Scheduler, pod, "PreemptionByScheduler")
		return
	}
	for _, member := range w.Pods() {
		if server.GroupOf(member) == group.Name && member.Namespace == group.Namespace && member.Spec.NodeName != "" && !IsOver(member) && member.DeletionTimestamp == nil {
			w.Drain(Scheduler, member, "PreemptionByScheduler")
		}
	}
}

// CreateGroup creates a pod group of the user's own.
func (w *World) CreateGroup(name string) {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: w.Key.Namespace, Name: name}}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1}
	w.say("user: creates pod group %s", name)
	w.must(&server.Request{User: User, Verb: server.Create, Kind: server.PodGroups, Key: client.ObjectKeyFromObject(group), Object: group})
}

// DeleteGroup deletes the pod group of that name.
func (w *World) DeleteGroup(name string) {
	w.say("user: deletes pod group %s", name)
	w.must(&server.Request{User: User, Verb: server.Delete, Kind: server.PodGroups, Key: client.ObjectKey{Namespace: w.Key.Namespace, Name: name}})
}
