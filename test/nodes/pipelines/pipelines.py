"""The pipelines of the tests. kfp 1.8 compiles them to workflows of Argo: python pipelines.py DIR writes one file for each.

Their steps run in one image, test/nodes/pipelines/Dockerfile. They share the claim "data": prepare writes examples that the training does not
see, the parameter server saves its weights, and evaluate compares the two.
"""

import pathlib
import sys

from kfp import compiler, components, dsl

import trainingjob.kfp

IMAGE = "registry.example.com/pipelines/step:v1"


def prepare(rows: int) -> str:
    """Writes examples of the linear model that examples/hello-ps trains, and returns their file."""
    import json
    import random
    rng, examples = random.Random(7), []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(20)]
        examples.append((x, sum(i / 20 * a for i, a in enumerate(x))))
    with open("/data/examples.json", "w") as file:
        json.dump(examples, file)
    print(f"{rows} examples")  # the store of the tests refuses an empty log
    return "/data/examples.json"


def evaluate(examples: str, phase: str, restarts: int) -> float:
    """Returns the loss of the saved weights."""
    import json
    with open(examples) as file:
        data = json.load(file)
    with open("/data/ps-0.json") as file:
        weights = json.load(file)["weights"]
    loss = sum((sum(w * a for w, a in zip(weights, x)) - y) ** 2 for x, y in data) / len(data)
    print(f"{phase} after {restarts} restarts, loss {loss:.4f}")
    return loss


def step(made):
    """Returns the step with the shared volume; what is cached elsewhere is not taken for its outputs."""
    made.execution_options.caching_strategy.max_cache_staleness = "P0D"
    return made.add_pvolumes({"/data": dsl.PipelineVolume(pvc="data")})


@dsl.pipeline(name="train")
def train(job: dict, on_termination: str = "suspend", rows: int = 100):
    """Prepares, trains as a TrainingJob by the SDK's component, and evaluates."""
    run = components.load_component_from_file(trainingjob.kfp.COMPONENT)
    data = step(components.create_component_from_func(prepare, base_image=IMAGE)(rows))
    trained = step(run(name="train", job=job, on_termination=on_termination)).after(data).set_retry(2, policy="Always")
    trained.container.image = IMAGE
    evaluation = components.create_component_from_func(evaluate, base_image=IMAGE)
    step(evaluation(data.output, trained.outputs["phase"], trained.outputs["restarts"]))


@dsl.pipeline(name="train-served")
def train_served(steps: str = "20", command: str = "", restart_policy: str = "OnFailure"):
    """Trains as a PyTorchJob, by Argo's resource template; command: what the lab's trainer does after its first step."""
    container = {"name": "pytorch", "image": "lab.local/trainer:1", "imagePullPolicy": "Never",
                 "env": [{"name": "STEPS", "value": str(steps)}, {"name": "COMMAND", "value": str(command)}]}
    role = {"replicas": 1, "restartPolicy": str(restart_policy), "template": {"spec": {"containers": [container]}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"generateName": "served-"},
           "spec": {"pytorchReplicaSpecs": {"Master": role, "Worker": role}}}
    failed = ", ".join(f"status.conditions.{i}.type == Failed" for i in (1, 2, 3))
    dsl.ResourceOp(name="train", k8s_resource=job, action="create",
                   attribute_outputs={"succeeded": "{.status.replicaStatuses.Master.succeeded}"},
                   success_condition="status.replicaStatuses.Master.succeeded > 0", failure_condition=failed)


if __name__ == "__main__":
    for pipeline in (train, train_served):
        compiler.Compiler().compile(pipeline, str(pathlib.Path(sys.argv[1]) / f"{pipeline.__name__.replace('_', '-')}.yaml"))
