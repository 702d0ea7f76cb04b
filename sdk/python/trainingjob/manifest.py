"""Manifests: each function returns the part of a TrainingJob that has its name, as a plain dict.

What is not given is left out, so that the defaults are the API's (docs/api.md). Here is checked what one value alone
can get wrong; rules between fields are the API server's, which answers with a sentence (ApiError.message).
"""

from __future__ import annotations

import re
from typing import Any, cast

from .checks import MAX_REPLICAS, given, listed, one_of, within
from .types import TrainingJob

API_VERSION = "trainingjob.dev/v1alpha1"
KIND = "TrainingJob"
FRAMEWORKS = ("TensorFlow", "PyTorch", "JAX", "MPI", "XGBoost", "LightGBM", "Paddle", "Custom")
ROLES = ("Chief", "Master", "Launcher", "Worker", "PS", "Evaluator")
# A Custom job may have roles of its own.
OWN_ROLE = re.compile(r"[a-z][a-z0-9]{0,14}")
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def job(name: str, framework: str, roles: dict, *, namespace: str | None = None, labels: dict | None = None,
        annotations: dict | None = None, suspend: bool | None = None, managed_by: str | None = None,
        elastic: dict | None = None, success_policy: str | None = None, run_policy: dict | None = None,
        recovery: dict | None = None, scheduling: dict | None = None, progress: dict | None = None,
        queue: str | None = None, mpi: dict | None = None, network: dict | None = None) -> TrainingJob:
    """Returns the manifest of a TrainingJob.

    name: of the job and its Service: lower-case letters, digits and '-', beginning with a letter.
    framework: TensorFlow, PyTorch, JAX, MPI, XGBoost, LightGBM, Paddle or Custom.
    roles: from Chief, Master, Launcher, Worker, PS, Evaluator to what replicas() returns. A Custom job may have others, with
      lower-case names of its own.
    namespace: default the client's.
    suspend: True creates it without pods. Default False.
    managed_by: another controller that runs this job. Default this operator.
    elastic, mpi, network, run_policy, recovery, scheduling, progress: what the functions of those names return.
    queue: Kueue's LocalQueue that the job waits in. Default none; Volcano's queues are scheduling(queue=...).
    success_policy: Leader (default), AllWorkers or AnyWorker.

    Raises ValueError, which says what to write instead.
    """
    if not re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", name):
        raise ValueError(f"name {name!r}: write lower-case letters, digits and '-', beginning with a letter")
    one_of("framework", framework, FRAMEWORKS, required=True)
    if not roles:
        raise ValueError('roles is empty: write roles={"Worker": replicas(4, image=...)}')
    for role, spec in roles.items():
        if not (framework == "Custom" and OWN_ROLE.fullmatch(role) and role.capitalize() not in ROLES and role != "ps"):
            one_of("role", role, ROLES, required=True)
        if not isinstance(spec, dict) or "template" not in spec:
            raise ValueError(f'role {role}: write "{role}": replicas(4, image=...)')
    one_of("success_policy", success_policy, ("Leader", "AllWorkers", "AnyWorker"))
    if queue is not None:
        labels = {**(labels or {}), QUEUE_LABEL: queue}
    return cast(TrainingJob, {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": given(name=name, namespace=namespace, labels=labels, annotations=annotations),
        "spec": given(framework=framework, suspend=suspend, managedBy=managed_by, successPolicy=success_policy,
                       elastic=elastic, mpi=mpi, network=network, runPolicy=run_policy, recovery=recovery, scheduling=scheduling,
                       progress=progress, replicaSpecs=dict(roles)),
    })


def replicas(count: int | None = None, *, template: dict | None = None, restart_policy: str | None = None,
             restart_scope: str | None = None, **container: Any) -> dict:
    """Returns one role: so many pods of one template.

    count: 0 to 10000. Default 1.
    restart_policy: OnFailure (default), Always, ExitCode or Never.
    restart_scope: Replica, Role or Job. Default by framework and role.
    container: image, command, gpus, ...: the arguments of template(); or template= for a template made before.

    Raises ValueError, which says what to write instead.
    """
    within("replicas", count, 0, MAX_REPLICAS)
    one_of("restart_policy", restart_policy, ("OnFailure", "Always", "ExitCode", "Never"))
    one_of("restart_scope", restart_scope, ("Replica", "Role", "Job"))
    if template is not None and container:
        raise ValueError(f"template and {', '.join(container)}: write either template= or image= and its companions")
    if template is None:
        template = _template(**container)
    return given(replicas=count, restartPolicy=restart_policy, restartScope=restart_scope, template=template)


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
    within("gpus", gpus, 0, None, required=True)
    main = given(name=container, image=image, command=listed(command), args=listed(args))
    if env:
        main["env"] = [{"name": key, "value": str(value)} for key, value in env.items()]
    if gpus:
        main["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    metadata = given(labels=labels, annotations=annotations)
    return {**({"metadata": metadata} if metadata else {}), "spec": {"containers": [main]}}


_template = template  # replicas() has an argument of this name
