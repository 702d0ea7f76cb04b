"""The pipeline of pipelines.py with kfp 2, run by its local runner: its steps are processes of this machine, the job runs on real nodes.

    LAB_DIR=... KUBECONFIG=... python local.py
"""

import os
import pathlib
import tempfile

from kfp import dsl, local

import trainingjob as tj
import trainingjob.kfp

DATA = pathlib.Path(os.environ["LAB_DIR"]).absolute() / "shared/data"  # /shared/data of the nodes
IMAGE = "registry.example.com/pipelines/step:v1"
GOOD_LOSS = 0.02


@dsl.component(install_kfp_package=False)
def prepare(folder: str, rows: int) -> str:
    import json
    import pathlib
    import random
    rng, examples = random.Random(7), []
    for _ in range(rows):
        x = [rng.gauss(0, 1) for _ in range(20)]
        examples.append((x, sum(i / 20 * a for i, a in enumerate(x))))
    path = pathlib.Path(folder) / "examples.json"
    path.write_text(json.dumps(examples))
    return str(path)


@dsl.component(install_kfp_package=False)
def evaluate(examples: str, phase: str, restarts: int) -> float:
    import json
    import pathlib
    data = json.loads(pathlib.Path(examples).read_text())
    weights = json.loads(pathlib.Path(examples).with_name("ps-0.json").read_text())["weights"]
    return sum((sum(w * a for w, a in zip(weights, x)) - y) ** 2 for x, y in data) / len(data)


def job():
    """Returns the job of examples/hello-ps, of a parameter server and two workers.

    The local runner replaces the text python3 in all arguments of a step, and so in the job: a pattern of the shell escapes it.
    """
    template = tj.template(IMAGE, command=["sh", "-c", "exec /usr/bin/python?.11 /app/train.py"], env={"STEPS": "400", "PACE": "0"})
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/checkpoints"}]
    template["spec"]["volumes"] = [{"name": "data", "hostPath": {"path": "/shared/data"}}]
    return tj.job("x", "TensorFlow", {"PS": tj.replicas(1, template=template), "Worker": tj.replicas(2, template=template)})


@dsl.pipeline(name="train")
def pipeline(folder: str) -> float:
    data = prepare(folder=folder, rows=100)
    trained = trainingjob.kfp.train("local", IMAGE, job=job()).after(data)
    return evaluate(examples=data.output, phase=trained.outputs["phase"], restarts=trained.outputs["restarts"]).output


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    for weights in DATA.glob("ps-*.json"):
        weights.unlink()
    with tempfile.TemporaryDirectory() as folder:
        local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root=folder)
        loss = pipeline(folder=str(DATA)).output
    print(f"loss {loss:.4f}")
    if loss >= GOOD_LOSS:
        raise SystemExit(f"the loss should be below {GOOD_LOSS}")
