"""A pipeline that prepares data, trains as a TrainingJob, and evaluates (kfp 2).

    pip install "trainingjob[kfp]" && python pipeline.py     # writes pipeline.yaml, to be uploaded

What the step's service account must be allowed: kubectl apply -k manifests/integrations/kfp
"""

from kfp import compiler, dsl

import trainingjob
import trainingjob.kfp

# Images of your own: the first has trainingjob[kfp], the second what the training needs.
STEP = "registry.example.com/python-trainingjob:0.2.0"
TRAINING = "registry.example.com/team/resnet:7"


@dsl.component(base_image=STEP, install_kfp_package=False)
def prepare(rows: int) -> str:
    """Writes the data set to the volume that all share, and returns where it is."""
    print(f"{rows} rows")
    return f"/data/{rows}"


@dsl.component(base_image=STEP, install_kfp_package=False)
def evaluate(job: str, restarts: int, data: str) -> float:
    """Returns how good the model is that the job has saved."""
    print(f"{job} has trained on {data}, with {restarts} restarts")
    return 0.9


@dsl.pipeline(name="train-resnet")
def pipeline(rows: int = 1000, namespace: str = "team-a"):
    data = prepare(rows=rows)
    job = trainingjob.kfp.train(
        "resnet", STEP, namespace=namespace, image=TRAINING, command=["python", "train.py"], workers=4, on_termination="suspend",
        volumes={"/data": "training-data"}, run_policy=trainingjob.run_policy(ttl_seconds_after_finished=86400))
    job.after(data).set_cpu_limit("8").set_memory_limit("64G").set_accelerator_type("nvidia.com/gpu").set_accelerator_limit(1)
    job.set_retry(2)
    evaluate(job=job.outputs["name"], restarts=job.outputs["restarts"], data=data.output)


if __name__ == "__main__":
    compiler.Compiler().compile(pipeline, "pipeline.yaml")
