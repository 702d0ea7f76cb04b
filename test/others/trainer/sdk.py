"""The Kubeflow SDK as its user calls it: train(), wait_for_job_status(), get_job_logs(), list_jobs(), delete_job(), on fake nodes.

Pods of fake nodes have no logs: get_job_logs() must ask for the log of rank 0, and the API server answers that the node does not.
"""

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient
from kubernetes import client as kubernetes

NODES = 4


def train():
    print("trained")


def main():
    client = TrainerClient(backend_config=KubernetesBackendConfig(namespace="default"))
    runtime = client.get_runtime("torch-distributed")
    name = client.train(runtime=runtime, trainer=CustomTrainer(func=train, num_nodes=NODES))

    job = client.wait_for_job_status(name, status={"Running", "Complete"}, timeout=120)
    assert {step.name for step in job.steps} == {f"node-{i}" for i in range(NODES)}, job.steps

    first = next(step for step in job.steps if step.name == "node-0")
    pod = kubernetes.CoreV1Api().read_namespaced_pod(first.pod_name, "default")
    assert pod.metadata.annotations["batch.kubernetes.io/job-completion-index"] == "0", pod.metadata
    try:
        print("log:", list(client.get_job_logs(name)))
        raise AssertionError("a pod of a fake node has a log")
    except RuntimeError as e:
        assert first.pod_name in str(e) and e.__cause__.status == 500, (e, e.__cause__)

    job = client.wait_for_job_status(name, timeout=120)
    assert job.status == "Complete" and name in [each.name for each in client.list_jobs()], job
    client.delete_job(name)


main()
