"""What a pod says of the replica that it is: its rank, its life, and how its main container is."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, NamedTuple, Set

from .manifest import ROLES

LABEL = "trainingjob.dev/"
MAIN = "kubectl.kubernetes.io/default-container"
Pod = Dict[str, Any]


class Life(NamedTuple):
    """Which life of its slot a pod is: the job's attempt, and how often the slot was replaced in it."""

    attempt: int
    replacement: int


class Lives(NamedTuple):
    """The lives of the processes of a pod's main container: of the one that runs, of the one before it in the pod, and the life that the
    pod was told to begin, which is the first of them unless its node does not show it yet."""

    runs: Life
    before: Life
    told: Life


class Container(NamedTuple):
    """How a container is: whether it has ever run, has ended for good, how often the kubelet started it again, whether its pod is gone,
    whether it was told to be started again, whose life it is, and whose the one before it was."""

    started: bool = False
    ended: bool = False
    restarts: int = 0
    gone: bool = False
    restarting: bool = False
    life: Life = Life(0, 0)
    before: Life = Life(0, 0)


def selector(job: Mapping[str, Any]) -> str:
    """Returns the labels of all pods of this very job, of one taken out of its Service too."""
    return f"{LABEL}job-uid={job['metadata']['uid']},{LABEL}rank"


def rank(pod: Pod) -> int:
    return int(_label(pod, "rank"))


def replica(pod: Pod) -> str:
    """Returns the replica's name, such as worker-3."""
    return f"{_label(pod, 'role')}-{_label(pod, 'index')}"


def life(pod: Pod) -> Life:
    """Returns the life that the pod was told to begin last."""
    return _life(_label(pod, "life"))


def lives(pod: Pod) -> Lives:
    annotations = pod["metadata"].get("annotations", {})
    told = json.loads(annotations.get(LABEL + "in-place-restart") or annotations.get(LABEL + "told") or "{}")  # the latter is its former name
    if not told.get("process"):
        return Lives(life(pod), life(pod), life(pod))
    begins, leaves = _life(told["life"]), _life(told["from"])
    statuses: List[Dict[str, Any]] = pod.get("status", {}).get("containerStatuses", [])
    main = next((each for each in statuses if each["name"] == main_container(pod)), {})
    if main.get("containerID", "") in ("", told["process"]):
        return Lives(leaves, leaves, begins)
    ended = main.get("lastState", {}).get("terminated", {}).get("containerID", told["process"])
    return Lives(begins, leaves if ended in (told["process"], told.get("before")) else begins, begins)


def uid(pod: Pod) -> str:
    return str(pod["metadata"]["uid"])


def main_container(pod: Pod) -> str:
    """Returns the name of the container that trains: side-cars stand beside it."""
    named = pod["metadata"].get("annotations", {}).get(MAIN)
    return str(named or pod["spec"]["containers"][0]["name"])


def is_over(pod: Pod) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def container(pod: Pod, name: str) -> Container:
    """Returns how the container of that name is."""
    here = lives(pod)
    found = _status(pod, name)._replace(life=here.runs, before=here.before)
    if name == main_container(pod) and here.told != here.runs and not is_over(pod):
        return found._replace(ended=False, restarting=True)
    return found


def _status(pod: Pod, name: str) -> Container:
    """Returns what the pod's status says of the container."""
    status = pod.get("status", {})
    for found in status.get("initContainerStatuses", []) + status.get("containerStatuses", []):
        if found["name"] == name:
            now, before = found.get("state", {}), found.get("lastState", {})
            ended = "terminated" in now
            never = pod["spec"].get("restartPolicy") == "Never" and not _restarts_itself(pod, name)
            return Container("running" in now or ended or "terminated" in before, ended and (is_over(pod) or never),
                             found.get("restartCount", 0))
    return Container(gone=is_over(pod))


def waiting(pod: Pod) -> str:
    """Returns why a pod does not run, if a person must do something about it; else an empty text."""
    status = pod.get("status", {})
    for found in status.get("initContainerStatuses", []) + status.get("containerStatuses", []):
        state = found.get("state", {}).get("waiting", {})
        if state.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return f"{state['reason']}: {state.get('message', '')}".removesuffix(": ")
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return f"{condition.get('reason', '')}: {condition.get('message', '')}".removesuffix(": ")
    return ""


def chosen_ranks(text: str | int | None, last: int) -> Set[int] | None:
    """Returns the ranks of a text such as "0,3-7,last"; None for all. Raises ValueError, which says what to write instead."""
    if text is None:
        return None
    ranks: Set[int] = set()
    for part in str(text).split(","):
        first, dash, end = part.strip().partition("-")
        numbers = [last if each == "last" else int(each) if each.isdecimal() else -1 for each in (first, end if dash else first)]
        if min(numbers) < 0 or numbers[0] > numbers[1]:
            raise ValueError(f"rank {text!r}: write a rank, or ranks and ranges of them, such as '0,3-7,last'")
        if numbers[1] > last:
            raise ValueError(f"rank {text!r}: the job has the ranks 0 to {last}")
        ranks.update(range(numbers[0], numbers[1] + 1))
    return ranks


def last_rank(job: Mapping[str, Any]) -> int:
    """Returns the highest rank: ranks run through the roles in their order, and elastic workers take as many as they may become."""
    spec = job["spec"]
    roles = spec["replicaSpecs"]
    named = [role for role in ROLES if role in roles]
    last = first = 0
    for role in named + sorted(set(roles) - set(named)):
        count = roles[role].get("replicas", 1)
        last = max(last, first + count - 1)
        first += spec["elastic"]["maxReplicas"] if role == "Worker" and "elastic" in spec else count
    return last


def replicas(pods: List[Pod]) -> List[Pod]:
    """Returns the pods by rank and life."""
    return sorted(pods, key=lambda pod: (rank(pod), life(pod)))


def _life(text: str) -> Life:
    attempt, _, replacement = text.partition("-")
    return Life(int(attempt), int(replacement or 0))


def _label(pod: Pod, name: str) -> str:
    return str(pod["metadata"].get("labels", {}).get(LABEL + name, ""))


def _restarts_itself(pod: Pod, name: str) -> bool:
    """Returns whether the kubelet may start the container again in its pod."""
    for found in pod["spec"].get("initContainers", []) + pod["spec"]["containers"]:
        if found["name"] == name:
            return "restartPolicy" in found or bool(found.get("restartPolicyRules"))
    return False
