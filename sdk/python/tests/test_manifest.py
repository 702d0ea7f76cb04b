"""Manifests are what examples/*.yaml say, and wrong arguments say what to write instead."""

import json
import pathlib
import unittest

import trainingjob as tj

try:
    import yaml
except ImportError:
    yaml = None

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples"
SCHEMA = json.loads((EXAMPLES.parent / "manifests/schema/trainingjob.dev_v1alpha1_trainingjob.json").read_text(encoding="utf-8"))

NIGHTLY = {
    "apiVersion": "trainingjob.dev/v1alpha1",
    "kind": "TrainingJob",
    "metadata": {"name": "nightly"},
    "spec": {
        "framework": "Custom",
        "successPolicy": "AllWorkers",
        "runPolicy": {"startupDeadlineSeconds": 600, "activeDeadlineSeconds": 86400, "cleanPodPolicy": "None",
                      "ttlSecondsAfterFinished": 3600},
        "recovery": {"maxRestarts": 3, "backoffSeconds": 10, "maxBackoffSeconds": 120},
        "replicaSpecs": {"Worker": {
            "replicas": 4,
            "restartScope": "Job",
            "template": {"spec": {"containers": [{
                "name": "worker",
                "image": "busybox:1.37",
                "command": ["sh", "-c", 'echo "rank $TRAININGJOB_RANK, attempt $TRAININGJOB_ATTEMPT"; sleep 60'],
                "resources": {"limits": {"nvidia.com/gpu": 8}},
            }]}},
        }},
    },
}


def nightly() -> dict:
    worker = tj.replicas(
        4, image="busybox:1.37", container="worker", gpus=8, restart_scope="Job",
        command=["sh", "-c", 'echo "rank $TRAININGJOB_RANK, attempt $TRAININGJOB_ATTEMPT"; sleep 60'])
    return tj.job(
        "nightly", "Custom", {"Worker": worker}, success_policy="AllWorkers",
        run_policy=tj.run_policy(clean_pod_policy="None", ttl_seconds_after_finished=3600,
                                 active_deadline_seconds=86400, startup_deadline_seconds=600),
        recovery=tj.recovery(max_restarts=3, backoff_seconds=10, max_backoff_seconds=120))


def ddp(script: str) -> dict:
    pod = tj.template(image="pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", container="pytorch", gpus=8, args=[script],
                      command=["torchrun", "--nproc-per-node=8", "--no-python", "python", "-c"])
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    pod["spec"]["terminationGracePeriodSeconds"] = 5
    pod["spec"]["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}]
    return tj.job("resnet-ddp", "PyTorch", {"Master": tj.replicas(template=pod), "Worker": tj.replicas(3, template=pod)})


def elastic(script: str) -> dict:
    worker = tj.replicas(4, image="pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", container="pytorch", gpus=8,
                         command=["torchrun", "--nproc-per-node=8", "--max-restarts=100", "--no-python", "python", "-c"],
                         args=[script])
    return tj.job("resnet-elastic", "PyTorch", {"Worker": worker}, elastic=tj.elastic(2, 8))


def recovery_rules() -> dict:
    return tj.recovery(max_restarts=5, max_oom_restarts=1, window_seconds=21600, avoid_nodes_seconds=3600, rules=[
        tj.rule(exit_codes=[42], cause="Fatal"),
        tj.rule(exit_codes=[75], cause="Infrastructure"),
        tj.rule(name="storage-client", container_name="fuse", cause="Retryable"),
        tj.rule(roles=["Evaluator"], signals=[11], scope="Job"),
    ])


def gang() -> dict:
    worker = tj.replicas(4, image="pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", container="pytorch", gpus=8,
                         command=["torchrun", "--nproc-per-node=8", "/workspace/train.py"])
    want = tj.job("bert-gang", "PyTorch", {"Worker": worker}, scheduling=tj.scheduling(
        gang="Native", topology_key="topology.kubernetes.io/zone", timeout_seconds=86400))
    want["spec"]["scheduling"]["topology"]["mode"] = "Preferred"  # the example says its default
    return want


class Manifests(unittest.TestCase):
    maxDiff = None

    def test_every_field_given_is_in_the_manifest(self):
        self.assertEqual(nightly(), NIGHTLY)

    @unittest.skipUnless(yaml, "PyYAML is not installed")
    def test_they_are_what_the_examples_say(self):
        self.assertEqual(nightly(), example("deadlines-and-cleanup"))
        self.assertEqual(gang(), example("gang"))
        self.assertEqual(recovery_rules(), example("recovery-rules")["spec"]["recovery"])
        self.assertEqual(tj.progress(port=9500, stall_after_seconds=900, action="Restart", checkpoint_grace_seconds=60), example("progress")["spec"]["progress"])
        for name, build, role in (("pytorch-ddp", ddp, "Master"), ("pytorch-elastic", elastic, "Worker")):
            with self.subTest(name):
                want = example(name)
                script = want["spec"]["replicaSpecs"][role]["template"]["spec"]["containers"][0]["args"][0]
                self.assertEqual(build(script), want)

    def test_what_is_not_given_is_left_to_the_api(self):
        self.assertEqual(tj.job("j", "JAX", {"Worker": tj.replicas(image="i")})["spec"],
                         {"framework": "JAX", "replicaSpecs": {
                             "Worker": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}}})

    def test_a_queue_is_a_label(self):
        made = tj.job("j", "JAX", {"Worker": tj.replicas(image="i")}, labels={"team": "a"}, queue="gpus")
        self.assertEqual(made["metadata"]["labels"], {"team": "a", "kueue.x-k8s.io/queue-name": "gpus"})

    def test_a_custom_job_may_have_roles_of_its_own(self):
        made = tj.job("j", "Custom", {"Worker": tj.replicas(image="i"), "actor": tj.replicas(4, image="i")})
        self.assertEqual(sorted(made["spec"]["replicaSpecs"]), ["Worker", "actor"])
        for framework, role in (("PyTorch", "actor"), ("Custom", "ps"), ("Custom", "worker"), ("Custom", "Actor")):
            with self.assertRaisesRegex(ValueError, "unknown role"):
                tj.job("j", framework, {role: tj.replicas(image="i")})

    def test_every_framework_of_the_api_can_be_written(self):
        said = SCHEMA["properties"]["spec"]["properties"]["framework"]["enum"]
        for framework in said:
            self.assertEqual(tj.job("j", framework, {"Worker": tj.replicas(image="i")})["spec"]["framework"], framework)
        self.assertEqual(len(said), 8)

    def test_environment_and_annotations_go_to_the_pods(self):
        pod = tj.template("i", env={"LR": 0.1}, annotations={"a": "b"})
        self.assertEqual(pod["metadata"], {"annotations": {"a": "b"}})
        self.assertEqual(pod["spec"]["containers"][0]["env"], [{"name": "LR", "value": "0.1"}])


class WrongArguments(unittest.TestCase):
    def test_they_say_what_to_write_instead(self):
        one = {"Worker": tj.replicas(image="i")}
        cases = (
            (lambda: tj.job("j", "Torch", one), "write TensorFlow, PyTorch, JAX, MPI, XGBoost, LightGBM, Paddle or Custom"),
            (lambda: tj.job("j", None, one), "write TensorFlow, PyTorch, JAX, MPI, XGBoost, LightGBM, Paddle or Custom"),
            (lambda: tj.job("j", "JAX", {"worker": tj.replicas(image="i")}),
             "unknown role 'worker': write Chief, Master, Launcher, Worker, PS or Evaluator"),
            (lambda: tj.job("j", "JAX", {}), 'write roles={"Worker"'),
            (lambda: tj.job("j", "JAX", {"Worker": 4}), 'write "Worker": replicas('),
            (lambda: tj.job("1_J", "JAX", one), "lower-case letters"),
            (lambda: tj.job("j", "JAX", one, success_policy="All"), "write Leader, AllWorkers or AnyWorker"),
            (lambda: tj.mpi(launch_agent="rsh"), "write SSH or None"),
            (lambda: tj.mpi(slots_per_worker=0), "write a whole number from 1 to 1024"),
            (lambda: tj.replicas(-1, image="i"), "replicas is -1: write a whole number from 0 to 10000"),
            (lambda: tj.replicas(2.5, image="i"), "write a whole number"),
            (lambda: tj.replicas(2), 'image is missing: write image='),
            (lambda: tj.replicas(2, image="i", restart_policy="Sometimes"), "write OnFailure, Always"),
            (lambda: tj.replicas(2, image="i", template={}), "either template= or image="),
            (lambda: tj.replicas(2, image="i", command="python train.py"), "write a list"),
            (lambda: tj.scheduling(gang="Kueue"), "write None, Native, Volcano or Coscheduling"),
            (lambda: tj.scheduling(topology_required=True), "write topology_key="),
            (lambda: tj.scheduling(topology_key="k", topology_required=True), "topology_required needs a gang"),
            (lambda: tj.scheduling(min_available=0), "write a whole number from 1 to 10000"),
            (lambda: tj.rule(exit_codes=[3]), "write cause=, scope= or both"),
            (lambda: tj.rule(exit_codes=[3], cause="Bug"), "unknown cause 'Bug': write Infrastructure"),
            (lambda: tj.progress(action="Kill"), "write Notify or Restart"),
            (lambda: tj.progress(port=80), "1024"),
            (lambda: tj.elastic(4, 2), "max_replicas is 2: write a whole number from 4"),
        )
        for wrong, said in cases:
            with self.subTest(said), self.assertRaises(ValueError) as caught:
                wrong()
            self.assertIn(said, str(caught.exception))


def example(name: str) -> dict:
    return next(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")))  # the job comes first


if __name__ == "__main__":
    unittest.main()
