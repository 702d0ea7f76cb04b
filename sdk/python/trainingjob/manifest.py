"""Manifests: each function returns the part of a TrainingJob that has its name, as a plain dict.

What is not given is left out, so that the defaults are the API's (docs/api.md). Here is checked what one value alone
can get wrong; rules between fields are the API server's, which answers with a sentence (ApiError.message).
"""

from __future__ import annotations

import re

API_VERSION = "trainingjob.dev/v1alpha1"
KIND = "TrainingJob"
FRAMEWORKS = ("TensorFlow", "PyTorch", "JAX", "Custom")
ROLES = ("Chief", "Master", "Launcher", "Worker", "PS", "Evaluator")
MAX_REPLICAS = 10000


def job(name: str, framework: str, roles: dict, *, namespace: str | None = None, labels: dict | None = None,
        annotations: dict | None = None, suspend: bool | None = None, managed_by: str | None = None,
        elastic: dict | None = None, success_policy: str | None = None, run_policy: dict | None = None,
        recovery: dict | None = None) -> dict:
    """Returns the manifest of a TrainingJob.

    name: of the job and its Service: lower-case letters, digits and '-', beginning with a letter.
    framework: TensorFlow, PyTorch, JAX or Custom.
    roles: from Chief, Master, Launcher, Worker, PS, Evaluator to what replicas() returns.
    namespace: default the client's.
    suspend: True creates it without pods. Default False.
    managed_by: another controller that runs this job. Default this operator.
    elastic, run_policy, recovery: what the functions of those names return.
    success_policy: Leader (default) or AllWorkers.

    Raises ValueError, which says what to write instead.
    """
    if not re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", name):
        raise ValueError(f"name {name!r}: write lower-case letters, digits and '-', beginning with a letter")
    _one_of("framework", framework, FRAMEWORKS)
    if not roles:
        raise ValueError('roles is empty: write roles={"Worker": replicas(4, image=...)}')
    for role, spec in roles.items():
        _one_of("role", role, ROLES)
        if not isinstance(spec, dict) or "template" not in spec:
            raise ValueError(f'role {role}: write "{role}": replicas(4, image=...)')
    _one_of("success_policy", success_policy, ("Leader", "AllWorkers"))
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": _given(name=name, namespace=namespace, labels=labels, annotations=annotations),
        "spec": _given(framework=framework, suspend=suspend, managedBy=managed_by, successPolicy=success_policy,
                       elastic=elastic, runPolicy=run_policy, recovery=recovery, replicaSpecs=dict(roles)),
    }


def replicas(count: int | None = None, *, template: dict | None = None, restart_policy: str | None = None,
             restart_scope: str | None = None, **container) -> dict:
    """Returns one role: so many pods of one template.

    count: 0 to 10000. Default 1.
    restart_policy: OnFailure (default), Always, ExitCode or Never.
    restart_scope: Replica, Role or Job. Default by framework and role.
    container: image, command, gpus, ...: the arguments of template(); or template= for a template made before.

    Raises ValueError, which says what to write instead.
    """
    if count is not None:
        _within("replicas", count, 0, MAX_REPLICAS)
    _one_of("restart_policy", restart_policy, ("OnFailure", "Always", "ExitCode", "Never"))
    _one_of("restart_scope", restart_scope, ("Replica", "Role", "Job"))
    if template is not None and container:
        raise ValueError(f"template and {', '.join(container)}: write either template= or image= and its companions")
    if template is None:
        template = _template(**container)
    return _given(replicas=count, restartPolicy=restart_policy, restartScope=restart_scope, template=template)


def template(image: str | None = None, *, command: list | None = None, args: list | None = None,
             env: dict | None = None, gpus: int = 0, container: str = "main", labels: dict | None = None,
             annotations: dict | None = None) -> dict:
    """Returns a pod template with one container; add to the dict what else the pod needs (volumes, tolerations, ...).

    image: of the container. Required.
    command, args: lists of strings. Default the image's.
    env: variables by name; values are made strings. None by default.
    gpus: limit of nvidia.com/gpu for each pod. Default 0: none.
    container: name of the container. Default main.
    labels, annotations: of the pods.

    Raises ValueError, which says what to write instead.
    """
    if not image:
        raise ValueError('image is missing: write image="registry/name:tag"')
    for what, words in (("command", command), ("args", args)):
        if isinstance(words, str):
            raise ValueError(f'{what} is one string: write a list, {what}=["sh", "-c", {words!r}]')
    _within("gpus", gpus, 0, None)
    main = _given(name=container, image=image, command=_list(command), args=_list(args))
    if env:
        main["env"] = [{"name": key, "value": str(value)} for key, value in env.items()]
    if gpus:
        main["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    metadata = _given(labels=labels, annotations=annotations)
    return {**({"metadata": metadata} if metadata else {}), "spec": {"containers": [main]}}


_template = template  # replicas() has an argument of this name


def elastic(min_replicas: int, max_replicas: int) -> dict:
    """Returns the bounds between which workers may be scaled while the job runs, each 1 to 10000."""
    _within("min_replicas", min_replicas, 1, MAX_REPLICAS)
    _within("max_replicas", max_replicas, min_replicas, MAX_REPLICAS)
    return {"minReplicas": min_replicas, "maxReplicas": max_replicas}


def run_policy(*, clean_pod_policy: str | None = None, ttl_seconds_after_finished: int | None = None,
               active_deadline_seconds: int | None = None, startup_deadline_seconds: int | None = None) -> dict:
    """Returns deadlines, in seconds and none by default, and which pods are deleted at the end.

    clean_pod_policy: Running (default), All or None, as the string "None".
    """
    _one_of("clean_pod_policy", clean_pod_policy, ("Running", "All", "None"))
    return _given(cleanPodPolicy=clean_pod_policy, ttlSecondsAfterFinished=ttl_seconds_after_finished,
                  activeDeadlineSeconds=active_deadline_seconds, startupDeadlineSeconds=startup_deadline_seconds)


def recovery(*, max_restarts: int | None = None, backoff_seconds: int | None = None,
             max_backoff_seconds: int | None = None) -> dict:
    """Returns how often (default 10) and after how many seconds (default 5, doubling up to 300) a job is restarted."""
    return _given(maxRestarts=max_restarts, backoffSeconds=backoff_seconds, maxBackoffSeconds=max_backoff_seconds)


def _given(**fields) -> dict:
    return {key: value for key, value in fields.items() if value is not None}


def _list(words):
    return None if words is None else list(words)


def _one_of(what: str, value, allowed: tuple) -> None:
    if value is None and what not in ("framework", "role"):
        return
    if value not in allowed:
        raise ValueError(f"unknown {what} {value!r}: write {', '.join(allowed[:-1])} or {allowed[-1]}")


def _within(what: str, value: int, least: int, most: int | None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        bounds = f"from {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{what} is {value!r}: write a whole number {bounds}")
