"""A Kubeflow Pipelines step that runs a TrainingJob and ends as it ends (kfp 2).

    pip install kfp && python pipeline.py     # writes pipeline.yaml, to be uploaded

The step's service account (pipeline-runner, unless you changed it) needs the ClusterRole trainingjob-edit in the job's
namespace:

    kubectl -n team-a create rolebinding pipelines-train --clusterrole=trainingjob-edit \\
      --serviceaccount=kubeflow:pipeline-runner
"""

from kfp import compiler, dsl

# From the repository, as the package is not on PyPI; pin a commit, or put it into an image of your own.
SDK = "trainingjob @ git+https://github.com/trainingjob/operator#subdirectory=sdk/python"


@dsl.component(base_image="python:3.13", packages_to_install=[SDK])
def train(run: str, namespace: str, image: str, command: list, workers: int, gpus: int, hours: int) -> str:
    """Returns the name of the job when it has succeeded; fails with the job's reason otherwise."""
    import trainingjob

    def report(status):
        print(f"{status['phase']}: {status.get('reason')}: {status.get('message')}", flush=True)

    worker = trainingjob.replicas(workers, image=image, command=command, gpus=gpus)
    client = trainingjob.Client(namespace)
    name = client.submit(trainingjob.job(
        f"train-{run[:8]}", "PyTorch", {"Worker": worker},
        run_policy=trainingjob.run_policy(active_deadline_seconds=hours * 3600, ttl_seconds_after_finished=86400)))
    client.wait(name, on_change=report)
    return name


@dsl.pipeline(name="train-resnet")
def pipeline(image: str, namespace: str = "team-a", workers: int = 4):
    step = train(run=dsl.PIPELINE_JOB_ID_PLACEHOLDER, namespace=namespace, image=image, workers=workers, gpus=8, hours=24,
                 command=["torchrun", "--nproc-per-node=8", "train.py"])
    step.set_caching_options(False)  # the name of a job says nothing about what it trained


if __name__ == "__main__":
    compiler.Compiler().compile(pipeline, "pipeline.yaml")
