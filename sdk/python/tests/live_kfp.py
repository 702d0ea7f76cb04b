"""Steps of Pipelines against a cluster with the operator and the lab's pods: run by kfp's own local runner, and ended as a run is.

    KUBECONFIG=... python -m unittest tests.live_kfp
"""

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import kubernetes
import trainingjob as tj
import trainingjob.kfp
import yaml
from kfp import dsl, local
from tests.live import LAB, WAIT
from trainingjob.kfp import launch
from trainingjob.kube import Kube

HERE = pathlib.Path(__file__).parents[1]

# What a step does, without kfp around it: a process that can be sent SIGTERM.
STEP = """
import sys, trainingjob as tj
from trainingjob.kfp import step
class Metrics:
    def log_metric(self, key, value): print("metric", key, value)
worker = tj.replicas(2, image="i", annotations={run_for})
made = tj.job("x", "PyTorch", {{"Worker": worker}})
print(step.main("kfp", made, "", {on_termination!r}, ("run", "1", {task!r}), Metrics(), None), flush=True)
"""


def worker(**lab):
    return {"Worker": tj.replicas(2, image="i", gpus=1, annotations={LAB + key.replace("_", "-"): value for key, value in lab.items()})}


@unittest.skipUnless(os.environ.get("KUBECONFIG"), "KUBECONFIG is not set")
class Local(unittest.TestCase):
    def setUp(self):
        self.client = tj.Client()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.environ["PYTHONPATH"] = str(HERE)
        local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root=folder.name)

    def run_pipeline(self, job, prefix):
        """Returns what a pipeline of one step printed, its task, and the error that it ended with."""
        @dsl.pipeline(name=prefix)
        def pipeline() -> str:
            return trainingjob.kfp.train(prefix, "python:3.13", job=job).outputs["name"]
        said, error, task = io.StringIO(), None, None
        with contextlib.redirect_stdout(said):
            try:
                task = pipeline()
            except RuntimeError as found:
                error = found
        return said.getvalue(), task, error

    def test_a_step_runs_its_job_and_gives_outputs(self):
        said, task, error = self.run_pipeline(tj.job("x", "PyTorch", worker(run_for="2s")), "kfp-good")
        self.assertIsNone(error, said)
        name = task.output
        self.addCleanup(self.client.delete, name)
        self.assertRegex(name, "^kfp-good-[0-9a-f]{10}$")
        self.assertEqual(self.client.get(name)["status"]["phase"], "Succeeded")
        self.assertEqual(self.client.get(name)["spec"]["replicaSpecs"]["Worker"]["replicas"], 2)
        self.assertIn("Succeeded", said)

    def test_a_step_fails_with_its_job_and_names_the_replica(self):
        made = tj.job("x", "PyTorch", worker(run_for="1s", exit_code="127", exit_message="trian.py: not found"), labels={"kfp": "bad"})
        said, _, error = self.run_pipeline(made, "kfp-bad")
        for found in self.client.list(labels="kfp=bad"):
            self.addCleanup(self.client.delete, found["metadata"]["name"])
        self.assertIsNotNone(error)
        self.assertRegex(said, r"Replica worker-[01] broke last with exit code 127\. Last words: trian\.py: not found")


@unittest.skipUnless(os.environ.get("KUBECONFIG"), "KUBECONFIG is not set")
class Ended(unittest.TestCase):
    def setUp(self):
        self.client = tj.Client()

    def start(self, task, on_termination, **lab):
        """Starts a step, and returns its process and the name of its job once that runs."""
        program = STEP.format(run_for={LAB + key.replace("_", "-"): value for key, value in lab.items()}, on_termination=on_termination, task=task)
        process = subprocess.Popen([sys.executable, "-c", program], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process, tj_name(task)

    def until_it_runs(self, name):
        for _ in range(WAIT):
            with contextlib.suppress(tj.JobNotFound):
                self.client.wait(name, WAIT, until="Running")
                return
            time.sleep(0.5)
        self.fail(f"there is no job {name}")

    def terminate(self, process):
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=WAIT)[0]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("The run was terminated", said)

    def test_a_terminated_run_suspends_its_job_and_a_retry_takes_it_up(self):
        process, name = self.start("suspended", "suspend")
        self.addCleanup(self.client.delete, name)
        self.until_it_runs(name)
        self.terminate(process)
        self.client.wait(name, WAIT, until="Suspended")
        uid = self.client.get(name)["metadata"]["uid"]
        again, _ = self.start("suspended", "keep")
        self.until_it_runs(name)
        self.assertEqual(self.client.get(name)["metadata"]["uid"], uid)
        self.terminate(again)
        self.assertFalse(self.client.get(name)["spec"].get("suspend"))
        self.assertEqual(self.client.wait(name, WAIT, until="Running")["phase"], "Running")

    def test_a_terminated_run_deletes_its_job_if_that_was_asked(self):
        process, name = self.start("deleted", "delete")
        self.until_it_runs(name)
        self.terminate(process)
        for _ in range(WAIT):
            try:
                self.client.get(name)
            except tj.JobNotFound:
                return
            time.sleep(0.5)
        self.fail(f"{name} is still there")

    def test_a_step_that_is_tried_again_trains_once(self):
        first, name = self.start("twice", "keep", run_for="5s")
        self.addCleanup(self.client.delete, name)
        self.until_it_runs(name)
        first.kill()
        second, _ = self.start("twice", "keep", run_for="5s")
        said = second.communicate(timeout=WAIT)[0]
        self.assertEqual(second.returncode, 0, said)
        self.assertIn("it is taken up", said)
        self.assertIn("metric attempts 1", said)
        self.assertEqual(self.client.get(name)["status"]["attempt"], 0)


@unittest.skipUnless(os.environ.get("KUBECONFIG"), "KUBECONFIG is not set")
class Rights(unittest.TestCase):
    """A step does its work with the rights of manifests/integrations/kfp, and with no others."""

    KFP = HERE.parents[1] / "manifests/integrations/kfp"

    def kubectl(self, *words, text=None):
        command = os.environ.get("KUBECTL", "kubectl").split() + list(words)
        return subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout

    def setUp(self):
        names = yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("kubeflow", "kfp-rights")])
        self.kubectl("apply", "-f", "-", text=names)
        self.addCleanup(self.kubectl, "delete", "namespace", "kubeflow", "kfp-rights", "--wait=false")
        self.kubectl("-n", "kubeflow", "create", "serviceaccount", "pipeline-runner")
        self.kubectl("-n", "kfp-rights", "apply", "-k", str(self.KFP))
        admin = Kube()._api.configuration
        configuration = kubernetes.client.Configuration(host=admin.host)
        configuration.ssl_ca_cert = admin.ssl_ca_cert
        configuration.api_key["authorization"] = "Bearer " + self.kubectl("-n", "kubeflow", "create", "token", "pipeline-runner").strip()
        self.kube = Kube(kubernetes.client.ApiClient(configuration))

    def test_a_step_needs_these_rights_and_no_others(self):
        client, said = tj.Client("kfp-rights", self.kube), []
        made = tj.job("j", "PyTorch", worker(run_for="2s"))
        outcome = launch.run(client, made, "run/1/rights", out=said.append)
        self.assertEqual(outcome.phase, "Succeeded")
        self.assertNotIn("forbidden", "\n".join(said))
        client.submit(tj.job("stopped", "PyTorch", worker(run_for="1h")))
        client.suspend("stopped")
        for name in ("j", "stopped"):
            client.delete(name)
        for refused in (lambda: tj.Client("default", self.kube).list(), lambda: client.events("j"),
                        lambda: self.kube._json("DELETE", "/api/v1/namespaces/kfp-rights/pods/j-worker-0")):
            with self.assertRaises(tj.ApiError) as caught:
                refused()
            self.assertEqual(caught.exception.status, 403)


def tj_name(task):
    """Returns the name that a step of that task gives its job: the first ten digits of a SHA-256 of run, group and task."""
    import hashlib
    return "kfp-" + hashlib.sha256(f"run\n1\n{task}".encode()).hexdigest()[:10]


if __name__ == "__main__":
    unittest.main()
