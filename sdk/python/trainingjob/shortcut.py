"""One call from a function, a script or a command to the manifest of a job."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

from . import source
from .checks import MAX_REPLICAS, given, one_of, within
from .manifest import FRAMEWORKS, job, replicas, template
from .parts import elastic as _elastic
from .parts import scheduling
from .types import TrainingJob

QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
DEVICE = re.compile(r"[a-z0-9.-]+/[A-Za-z0-9._-]+")
GPU = "nvidia.com/gpu"


def manifest(name: str, *, func: Callable[..., Any] | None = None, func_args: Mapping[str, Any] | None = None,
             script: str | None = None, args: Sequence[str] | None = None, command: Sequence[str] | None = None,
             image: str | None = None, workers: int | None = None, ps: int = 0, resources: Mapping[str, Any] | None = None,
             volumes: Mapping[str, Any] | None = None, env: Mapping[str, Any] | None = None,
             packages: Sequence[str] | None = None, framework: str = "PyTorch", processes_per_worker: int | None = None,
             elastic: Tuple[int, int] | Mapping[str, Any] | None = None, gang: str | None = None, queue: str | None = None,
             recovery: Mapping[str, Any] | None = None, node_selector: Mapping[str, str] | None = None,
             tolerations: Sequence[Mapping[str, Any]] | None = None, **more: Any) -> TrainingJob:
    """Returns the job that trainingjob.train would create; see there for the arguments. more goes to job()."""
    one_of("framework", framework, FRAMEWORKS, required=True)
    if framework == "MPI":
        raise ValueError("an MPI job has a launcher beside its workers: write trainingjob.job(name, 'MPI', {'Launcher': ..., 'Worker': ...})")
    if "gpus" in more:
        raise ValueError(f"train has no gpus: write resources={{'gpu': {more['gpus']!r}}}, the devices of each worker")
    if isinstance(elastic, tuple):
        elastic = _elastic(*elastic)
    workers = _workers(workers, elastic)
    within("ps", ps, 0, None, required=True)
    main = _command(name, func, func_args, script, args, command, packages,
                    _launch(framework, resources, processes_per_worker, elastic is not None))
    pod = template(image, command=main, env=dict(env or {}))
    _place(pod, volumes, node_selector, tolerations)
    roles = {"Worker": replicas(workers, template=_sized(pod, resources, devices=True))}
    if ps:
        roles["PS"] = replicas(ps, template=_sized(pod, resources, devices=False))
    if gang is not None:
        more["scheduling"] = {**more.get("scheduling", {}), **scheduling(gang=gang)}
    return job(name, framework, roles, elastic=_dict(elastic), queue=queue, recovery=_dict(recovery), **more)


POD_LIVED = ("emptyDir", "configMap", "secret", "projected", "downwardAPI", "ephemeral", "image", "gitRepo")


def forgets(job: TrainingJob) -> str:
    """Returns a warning if no pod of the job mounts a volume for writing that outlives it; empty otherwise. kubectl tj plan has the same."""
    what = "No volume outlives"
    for role in job["spec"]["replicaSpecs"].values():
        pod: Any = role["template"]["spec"]
        for volume in pod.get("volumes", []):
            if set(volume) - {"name"} - set(POD_LIVED):
                if _is_written(pod, volume):
                    return ""
                what = "No volume that it writes to outlives"
    return f"{what} a pod: after a restart this training begins at zero, unless it saves to an object store (docs/survive.md)."


def _is_written(pod: Mapping[str, Any], volume: Mapping[str, Any]) -> bool:
    """Returns whether a container mounts the volume, and not only to read."""
    if volume.get("persistentVolumeClaim", {}).get("readOnly"):
        return False
    return any(
        use["name"] == volume["name"] and not use.get("readOnly")
        for container in [*pod.get("initContainers", []), *pod["containers"]]
        for use in [*container.get("volumeMounts", []), *container.get("volumeDevices", [])])


def _workers(workers: int | None, elastic: Mapping[str, Any] | None) -> int:
    """Returns the number of workers, by default the least that the job may have."""
    least: int = elastic["minReplicas"] if elastic else 1
    most: int = elastic["maxReplicas"] if elastic else MAX_REPLICAS
    if workers is None:
        return least
    if elastic and isinstance(workers, int) and not least <= workers <= most:
        raise ValueError(f"workers is {workers}: with elastic=({least}, {most}) write workers={least} to {most}, or leave it out to begin with {least}")
    within("workers", workers, 1, None)
    return workers


def _command(name: str, func: Callable[..., Any] | None, func_args: Mapping[str, Any] | None, script: str | None,
             args: Sequence[str] | None, command: Sequence[str] | None, packages: Sequence[str] | None,
             launch: List[str]) -> List[str] | None:
    """Returns what the container runs; None for what its image says."""
    ways = [way for way, value in (("func", func), ("script", script), ("command", command)) if value is not None]
    if len(ways) > 1:
        raise ValueError(f"{' and '.join(ways)}: write one of them")
    if func_args is not None and func is None:
        raise ValueError("func_args goes with func=: of a script or a command write args=")
    if args is not None and func is not None:
        raise ValueError("args goes with script= or command=: of a function write func_args={...}")
    if func is not None:
        return source.command(source.of_function(func, func_args), f"{func.__name__}.py", launch=launch, packages=packages or ())
    if script is not None:
        text = source.of_script(script)
        return source.command(text, os.path.basename(script), launch=launch, packages=packages or ()) + list(args or ())
    if packages:
        raise ValueError("packages are installed for func= and script= only: a command finds what its image has")
    if isinstance(command, str):
        raise ValueError(f"command is one string: write a list, command={command.split()!r}")
    return None if command is None else [*command, *(args or ())]


def _launch(framework: str, resources: Mapping[str, Any] | None, processes: int | None, elastic: bool) -> List[str]:
    """Returns what runs the source: torchrun where a worker has several processes, or their number may change."""
    within("processes_per_worker", processes, 1, 1024)
    if framework != "PyTorch":
        if processes is not None:
            raise ValueError(f"processes_per_worker is torchrun's, and this is a {framework} job: leave it out")
        return []
    if processes is None:
        gpus = str((resources or {}).get("gpu", 1))
        processes = max(1, int(gpus)) if gpus.isdecimal() else 1
    return ["torchrun", f"--nproc-per-node={processes}"] if processes > 1 or elastic else []


def _sized(pod: Dict[str, Any], resources: Mapping[str, Any] | None, devices: bool) -> Dict[str, Any]:
    """Returns the template with the resources: CPU as a request, memory as request and limit, devices as a limit."""
    requests: Dict[str, Any] = {}
    limits: Dict[str, Any] = {}
    for name, amount in (resources or {}).items():
        if not QUANTITY.fullmatch(str(amount)):
            raise ValueError(f"resources[{name!r}] is {amount!r}: write an amount such as 4, '500m' or '16Gi'")
        if name in ("cpu", "memory", "ephemeral-storage"):
            requests[name] = str(amount)
        elif name != "gpu" and not DEVICE.fullmatch(name):
            raise ValueError(f"resources has {name!r}: write cpu, memory, ephemeral-storage, gpu ({GPU}) or a device such as amd.com/gpu")
        elif not str(amount).isdecimal():
            raise ValueError(f"resources[{name!r}] is {amount!r}: write a whole number, as a device belongs to one container")
        elif devices:
            limits[GPU if name == "gpu" else name] = amount
        if name == "memory":
            limits[name] = str(amount)
    main, *others = pod["spec"]["containers"]
    found = given(requests=requests or None, limits=limits or None)
    sized = {**main, "resources": found} if found else main
    return {**pod, "spec": {**pod["spec"], "containers": [sized, *others]}}


def _place(pod: Dict[str, Any], volumes: Mapping[str, Any] | None, node_selector: Mapping[str, str] | None,
           tolerations: Sequence[Mapping[str, Any]] | None) -> None:
    """Adds volumes and where the pod may run."""
    spec = pod["spec"]
    mounts: List[Dict[str, Any]] = []
    for number, (path, what) in enumerate((volumes or {}).items()):
        if not path.startswith("/"):
            raise ValueError(f"volumes has {path!r}: write a path such as '/data' and what is mounted there")
        volume = {"name": f"volume-{number}", **(_claim(what) if isinstance(what, str) else what)}
        spec.setdefault("volumes", []).append(volume)
        mounts.append(given(name=volume["name"], mountPath=path, readOnly=True if isinstance(what, str) and what.endswith(":ro") else None))
    if mounts:
        spec["containers"][0]["volumeMounts"] = mounts
    if node_selector:
        spec["nodeSelector"] = dict(node_selector)
    if tolerations:
        spec["tolerations"] = [dict(each) for each in tolerations]


def _claim(name: str) -> Dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": name.removesuffix(":ro")}}


def _dict(part: Mapping[str, Any] | None) -> Dict[str, Any] | None:
    return None if part is None else dict(part)
