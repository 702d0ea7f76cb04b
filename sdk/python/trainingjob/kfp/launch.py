"""What a step of a pipeline does: it runs one TrainingJob and ends as it ends. Imports nothing of kfp.

    name of the step's work ──> is there such a job? ──no──> create it ──> leader's log and phases ──> outputs, or an error
                                       └──yes: a retry of the step takes it up──^

The name is made of the run, the group of tasks and the task, never of the step's pod: a retry finds the job of the try before and
never trains twice. A run that is terminated sends SIGTERM, and the job is suspended, deleted or kept, as was asked.
"""

from __future__ import annotations

import calendar
import hashlib
import re
import threading
import time
from typing import Any, Dict, List, Mapping, NamedTuple

from ..client import Client
from ..errors import ApiError, JobFailed
from ..types import TrainingJobStatus
from .termination import ON_TERMINATION, ending

MOST_NAME = 30  # letters of a job's name, so that those of its pods fit a DNS label
LAST_LINES_SECONDS = 15  # how long the end of the log may take after the job's
OWNED_BY = "trainingjob.dev/pipeline-step"  # an annotation: which step a job is of


class Outcome(NamedTuple):
    """What a step gives to the next ones."""

    name: str
    phase: str
    duration_seconds: float
    restarts: int
    metrics: Dict[str, float]


def job_name(prefix: str, *task: str) -> str:
    """Returns the name of the job of a task: the same in each try of it, another in every other task and run.

    task: what identifies it, such as the run, the group of tasks and the name.
    """
    short = hashlib.sha256("\n".join(task).encode()).hexdigest()[:10]
    plain = re.sub("[^a-z0-9-]+", "-", prefix.lower()).strip("-")
    plain = re.sub("^[^a-z]+", "", plain)[: MOST_NAME - len(short) - 1].strip("-") or "train"
    return f"{plain}-{short}"


def with_task_config(job: Mapping[str, Any], config: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns the job with what was set on the task in every replica: resources, env, volumes, node selector, tolerations, affinity.

    What a template says itself counts more than the task, name by name.
    """
    roles = {role: {**spec, "template": _configured(spec["template"], config)} for role, spec in job["spec"]["replicaSpecs"].items()}
    return {**job, "spec": {**job["spec"], "replicaSpecs": roles}}


def run(client: Client, job: Mapping[str, Any], step: str, on_termination: str = "suspend", out: Any = print) -> Outcome:
    """Runs the job, or takes it up if a try of the same step has created it, and returns how it ended.

    step: what the job is of; another step's job of the same name is left alone.
    Raises JobFailed, which names the replica, or Terminated after SIGTERM.
    """
    if on_termination not in ON_TERMINATION:
        raise ValueError(f"on_termination is {on_termination!r}: write suspend, delete or keep")
    name = job["metadata"]["name"]
    with ending(client, name, on_termination, out):
        _create_or_attach(client, job, step, out)
        log = threading.Thread(target=_copy_log, args=(client, name, out), daemon=True)
        log.start()
        try:
            status = client.wait(name, on_change=lambda now: out(_line(now)))
        except JobFailed as error:
            log.join(LAST_LINES_SECONDS)
            raise _told(error) from None
        log.join(LAST_LINES_SECONDS)
        return _outcome(name, status)


def _configured(template: Mapping[str, Any], config: Mapping[str, Any]) -> Dict[str, Any]:
    spec = dict(template["spec"])
    main, *others = spec["containers"]
    main = dict(main)
    for field, key, wanted in (("env", "name", config.get("env")), ("volumeMounts", "mountPath", config.get("volume_mounts"))):
        if wanted:
            main[field] = _merged(wanted, main.get(field, []), key)
    resources = config.get("resources") or {}
    own = main.get("resources", {})
    both = {kind: {**(resources.get(kind) or {}), **own.get(kind, {})} for kind in ("requests", "limits")}
    if any(both.values()):
        main["resources"] = {kind: amounts for kind, amounts in both.items() if amounts}
    spec["containers"] = [main, *others]
    if config.get("volumes"):
        spec["volumes"] = _merged(config["volumes"], spec.get("volumes", []), "name")
    if config.get("tolerations"):
        spec["tolerations"] = spec.get("tolerations", []) + [each for each in config["tolerations"] if each not in spec.get("tolerations", [])]
    if config.get("node_selector"):
        spec["nodeSelector"] = {**config["node_selector"], **spec.get("nodeSelector", {})}
    if config.get("affinity") and "affinity" not in spec:
        spec["affinity"] = config["affinity"]
    return {**template, "spec": spec}


def _merged(task: List[Dict[str, Any]], own: List[Dict[str, Any]], key: str) -> List[Dict[str, Any]]:
    said = {each[key] for each in own}
    return [each for each in task if each[key] not in said] + own


def _create_or_attach(client: Client, job: Mapping[str, Any], step: str, out: Any) -> None:
    meta = job["metadata"]
    marked = {**job, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), OWNED_BY: step}}}
    try:
        client.submit(marked)
        out(f"TrainingJob {meta['name']} created in namespace {client.namespace}")
        return
    except ApiError as error:
        if error.status != 409:
            raise
    found = client.get(meta["name"])
    if found["metadata"].get("annotations", {}).get(OWNED_BY) != step:
        raise ApiError(409, f"there is a TrainingJob {meta['name']} in namespace {client.namespace} that is not of this step: give another name")
    out(f"TrainingJob {meta['name']} is there from an earlier try of this step: it is taken up")
    if found["spec"].get("suspend") and not job["spec"].get("suspend"):
        client.resume(meta["name"])


def _copy_log(client: Client, name: str, out: Any) -> None:
    """Copies the leader's log; a log that may not be read does not fail the step."""
    try:
        for line in client.logs(name, rank=0, follow=True, on_gap=lambda sentence: out(f"log: {sentence}")):
            out(str(line))
    except Exception as error:  # whatever it is, the training goes on
        out(f"log: it is not shown any more: {error}")


def _line(status: TrainingJobStatus) -> str:
    clock = time.strftime("%H:%M:%S", time.gmtime())
    return f"{clock} {status.get('phase')} {status.get('ready', '')}: {status.get('message') or status.get('reason', '')}"


def _told(error: JobFailed) -> JobFailed:
    """Returns the error with the replica, the exit code and the last words in its sentence."""
    code = f" with exit code {error.exit_code}" if error.exit_code is not None else ""
    who = f" Replica {error.replica} broke last{code}." if error.replica else ""
    said = f" Last words: {error.last_words.splitlines()[0]}" if error.last_words else ""
    return JobFailed(error.reason, f"{error.message}{who}{said}", error.last_failure, error.last_words)


def _outcome(name: str, status: TrainingJobStatus) -> Outcome:
    ran, lost = status.get("runningSeconds", 0), status.get("lostSeconds", {})
    restarts = status.get("restarts", 0)
    metrics: Dict[str, float] = {"restarts": restarts, "attempts": status.get("attempt", 0) + 1, "running_seconds": ran}
    took = _seconds(status) - status.get("suspendedSeconds", 0)
    if took >= 1:
        metrics["running_time_ratio"] = round(min(1.0, ran / took), 3)
    step = status.get("progress", {}).get("step")
    if step is not None:
        metrics["step"] = step
    metrics.update({f"lost_{what}_seconds": seconds for what, seconds in lost.items() if isinstance(seconds, (int, float))})
    return Outcome(name, status.get("phase", "Succeeded"), _seconds(status), restarts, metrics)


def _seconds(status: TrainingJobStatus) -> float:
    """Returns how long the job took from its first start to its end."""
    times = [status.get("startTime"), status.get("completionTime")]
    if not all(times):
        return 0.0
    start, end = (calendar.timegm(time.strptime(str(each), "%Y-%m-%dT%H:%M:%SZ")) for each in times)
    return float(end - start)
