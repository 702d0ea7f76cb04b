"""The component: what the compiler of Pipelines makes of it, and what its logic does about names, retries and what is set on a task."""

import copy
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import trainingjob as tj
from tests.fake import AWAY, FakeApi, changes, job
from trainingjob.kfp import launch, termination

try:
    from kfp import compiler
    import yaml
except ImportError:
    compiler = None

HERE = pathlib.Path(__file__).parent
CONFIG = {
    "resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "1"}, "requests": {"cpu": "8"}},
    "env": [{"name": "SHARED", "value": "task"}, {"name": "TASK", "value": "task"}],
    "volumes": [{"name": "pvc", "persistentVolumeClaim": {"claimName": "c"}}],
    "volume_mounts": [{"name": "pvc", "mountPath": "/mnt"}],
    "node_selector": {"pool": "gpu"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}


@unittest.skipUnless(compiler, "kfp is not installed")
class Compiled(unittest.TestCase):
    maxDiff = None

    def test_the_example_compiles_to_the_golden_ir(self):
        """With UPDATE_GOLDEN=1 the golden file is written anew: read what has changed in it."""
        spec = importlib.util.spec_from_file_location("pipeline", HERE.parent / "examples/pipeline.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        golden = HERE / "golden/pipeline.yaml"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pipeline.yaml")
            compiler.Compiler().compile(module.pipeline, path)
            text = pathlib.Path(path).read_text(encoding="utf-8")
        if os.environ.get("UPDATE_GOLDEN"):
            golden.write_text(text, encoding="utf-8")
        self.assertEqual(text, golden.read_text(encoding="utf-8"))
        self.assertNotIn("pip install", text)

    def test_what_is_set_on_the_task_is_passed_on(self):
        component = yaml.safe_load((HERE / "golden/pipeline.yaml").read_text(encoding="utf-8"))["components"]["comp-run-training-job"]
        self.assertEqual({each["field"] for each in component["taskConfigPassthroughs"]},
                         {"RESOURCES", "ENV", "KUBERNETES_NODE_SELECTOR", "KUBERNETES_TOLERATIONS", "KUBERNETES_VOLUMES", "KUBERNETES_AFFINITY"})


class Named(unittest.TestCase):
    def test_a_try_has_the_name_of_the_one_before_and_nobody_elses(self):
        name = launch.job_name("resnet", "run", "7", "train")
        self.assertEqual(name, launch.job_name("resnet", "run", "7", "train"))
        for other in (("run2", "7", "train"), ("run", "8", "train"), ("run", "7", "train-2")):
            self.assertNotEqual(name, launch.job_name("resnet", *other))

    def test_any_prefix_makes_a_name(self):
        for prefix in ("ResNet 50!", "", "9lives", "-", "a" * 99, "ends-with-a-dash-here-------"):
            name = launch.job_name(prefix, "run", "7", "train")
            self.assertRegex(name, "^[a-z]([-a-z0-9]*[a-z0-9])?$")
            self.assertLessEqual(len(name), 30)


class Configured(unittest.TestCase):
    maxDiff = None

    def test_every_replica_gets_what_is_set_on_the_task(self):
        worker = tj.template("i", env={"SHARED": "own"})
        worker["spec"]["nodeSelector"] = {"zone": "a"}
        made = tj.job("j", "TensorFlow", {"Worker": tj.replicas(template=worker), "PS": tj.replicas(image="ps")})
        before = copy.deepcopy(made)
        roles = launch.with_task_config(made, CONFIG)["spec"]["replicaSpecs"]
        self.assertEqual(made, before)
        for role, env, selector in (("Worker", [{"name": "TASK", "value": "task"}, {"name": "SHARED", "value": "own"}], {"pool": "gpu", "zone": "a"}),
                                    ("PS", CONFIG["env"], {"pool": "gpu"})):
            spec = roles[role]["template"]["spec"]
            main = spec["containers"][0]
            self.assertEqual(main["env"], env)
            self.assertEqual(main["resources"], CONFIG["resources"])
            self.assertEqual(main["volumeMounts"], CONFIG["volume_mounts"])
            self.assertEqual((spec["volumes"], spec["nodeSelector"], spec["tolerations"], spec["affinity"]),
                             (CONFIG["volumes"], selector, CONFIG["tolerations"], CONFIG["affinity"]))

    def test_a_task_on_which_nothing_is_set_changes_nothing(self):
        made = tj.job("j", "JAX", {"Worker": tj.replicas(image="i", gpus=1)})
        self.assertEqual(launch.with_task_config(made, dict.fromkeys(CONFIG)), made)
        self.assertEqual(launch.with_task_config(made, {}), made)


class Taken(FakeApi):
    """An API server that has a job of that name already."""

    def __init__(self, owner, suspended=False):
        there = job(1, "Succeeded", "LeaderSucceeded", runningSeconds=9, restarts=2)
        there["metadata"]["annotations"] = {launch.OWNED_BY: owner}
        there["spec"] = {"suspend": suspended, "replicaSpecs": {"Worker": {}}}
        super().__init__([there] * 9)

    def create(self, namespace, manifest, dry_run=False):
        raise tj.ApiError(409, "there is one")

    def pods(self, namespace, labels):
        return {"items": [], "metadata": {"resourceVersion": "1"}}

    def watch_pods(self, *_):
        return iter(())


class Retried(unittest.TestCase):
    MADE = tj.job("j", "JAX", {"Worker": tj.replicas(image="i")})

    def test_a_retry_takes_its_job_up_and_trains_no_second_time(self):
        said = []
        outcome = launch.run(tj.Client(api=Taken("run/7/train")), self.MADE, "run/7/train", out=said.append)
        self.assertEqual((outcome.name, outcome.phase, outcome.restarts), ("j", "Succeeded", 2))
        self.assertIn("taken up", said[0])

    def test_a_job_of_a_queue_goes_back_to_its_queue(self):
        api = Taken("run/7/train", suspended=True)
        for there in api.gets:
            there["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
        client = tj.Client(api=api)
        client.suspend("j")
        client.resume("j")
        self.assertEqual([request for request in api.asked if request[0] == "patch"], [
            ("patch", "j", {"metadata": {"annotations": {"trainingjob.dev/queue-paused": "true"}}, "spec": {"suspend": True}}),
            ("patch", "j", {"metadata": {"annotations": {"trainingjob.dev/queue-paused": None, "trainingjob.dev/queue-resized": "true"}}}),
        ])

    def test_a_job_that_a_termination_suspended_goes_on(self):
        api = Taken("run/7/train", suspended=True)
        launch.run(tj.Client(api=api), self.MADE, "run/7/train", out=lambda text: None)
        self.assertIn(("patch", "j", {"spec": {"suspend": False}}), api.asked)

    def test_a_job_of_another_step_is_left_alone(self):
        with self.assertRaisesRegex(tj.ApiError, "not of this step"):
            launch.run(tj.Client(api=Taken("run/7/other")), self.MADE, "run/7/train", out=lambda text: None)

    def test_a_termination_outlasts_an_api_server_that_is_away(self):
        api = Taken("run/7/train")
        api.gets = [AWAY, AWAY, *api.gets]
        with mock.patch.object(termination, "PAUSE_SECONDS", 0):
            termination.end(tj.Client(api=api), "j", "suspend")
        self.assertIn(("patch", "j", {"spec": {"suspend": True}}), api.asked)

    def test_a_termination_that_is_refused_is_an_error(self):
        api = Taken("run/7/train")
        api.gets = [tj.ApiError(403, "forbidden")]
        with self.assertRaisesRegex(tj.ApiError, "forbidden"):
            termination.end(tj.Client(api=api), "j", "suspend")

    def test_a_termination_before_the_step_is_ready_ends_the_job(self):
        api, said = Taken("run/7/train"), []
        self.addCleanup(signal.pthread_sigmask, signal.SIG_UNBLOCK, {signal.SIGTERM})
        termination.hold()
        signal.raise_signal(signal.SIGTERM)
        with self.assertRaises(termination.Terminated):
            launch.run(tj.Client(api=api), self.MADE, "run/7/train", out=said.append)
        self.assertIn(("patch", "j", {"spec": {"suspend": True}}), api.asked)

    def test_the_logic_needs_no_kfp(self):
        program = "import sys; sys.modules['kfp'] = None; import trainingjob.kfp.launch, trainingjob.kfp.step, trainingjob.kfp.__main__"
        self.assertEqual(subprocess.run([sys.executable, "-c", program], cwd=HERE.parent).returncode, 0)


if __name__ == "__main__":
    unittest.main()
