"""The Kubeflow SDK with a program that trains, on two real nodes: train(), get_job_logs(), wait_for_job_status().

With the argument "cut" the job loses a node until it has ended and must go on on the other one, with "kill" it loses a process.
"""

import json
import os
import subprocess
import sys
import time

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient

client = TrainerClient(backend_config=KubernetesBackendConfig(namespace="default"))


def train(steps: str):
    import time

    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    for step in range(int(steps)):
        total = torch.tensor([dist.get_rank() + 1.0])
        dist.all_reduce(total)
        print(f"step {step} of rank {dist.get_rank()} of {dist.get_world_size()}: sum {total.item():.0f}", flush=True)
        time.sleep(1)


def start(steps: int) -> str:
    trainer = CustomTrainer(func=train, func_args={"steps": str(steps)}, num_nodes=2, resources_per_node={"cpu": "200m"})
    name = client.train(runtime=client.get_runtime("torch-distributed"), trainer=trainer)
    client.wait_for_job_status(name, status={"Running"}, timeout=120)
    return name


def ends(name: str, steps: int):
    client.wait_for_job_status(name, timeout=300)
    log = "\n".join(client.get_job_logs(name)).splitlines()
    assert log[-1] == f"step {steps - 1} of rank 0 of 2: sum 3", log
    client.delete_job(name)


def trains():
    name = start(steps=5)
    log = "\n".join(client.get_job_logs(name, follow=True)).splitlines()
    assert log[-1] == "step 4 of rank 0 of 2: sum 3", log
    ends(name, steps=5)


def lab(*words: str) -> str:
    return subprocess.run(["bin/lab", *words], check=True, capture_output=True, text=True).stdout


def breaks(fault: str):
    name = start(steps=30)
    pod = next(step.pod_name for step in client.get_job(name).steps if step.name == "node-1")
    node = lab("kubectl", "get", "pod", pod, "--output=jsonpath={.spec.nodeName}")
    next(line for line in client.get_job_logs(name, follow=True) if "step 5" in line)
    kind, it = {"cut": ("node", node), "kill": ("pod", pod)}[fault]
    folder = f"--dir={os.environ['LAB_DIR']}"
    lab(kind, fault, folder, it)
    begin = time.monotonic()
    try:
        while not (status := json.loads(lab("kubectl", "get", "jobset", name, "--output=json"))["status"]).get("restarts"):
            assert time.monotonic() < begin + 120, status
            time.sleep(1)
        print(f"restarted {time.monotonic() - begin:.0f} s after {fault} of {it}: {status['conditions']}")
        ends(name, steps=30)
        assert status["restarts"] == 1, status
    finally:
        if fault == "cut":
            lab(kind, "heal", folder, it)


breaks(sys.argv[1]) if sys.argv[1:] else trains()
