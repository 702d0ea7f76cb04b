"""Against a cluster with the operator and the lab's pods (test/lab): KUBECONFIG=... python -m unittest tests.live

Pods end by the annotations of the lab, so elsewhere these jobs would run for ever.
"""

import os
import time
import unittest

import trainingjob as tj

LAB = "lab.trainingjob.dev/"


def job(name, workers=2, **more):
    """Returns a job whose pods obey what is given with lab=: run_for="2s", exit_code="1", ..."""
    lab = {LAB + key.replace("_", "-"): value for key, value in more.pop("lab", {}).items()}
    worker = tj.replicas(workers, image="busybox:1.37", gpus=1, annotations=lab or None)
    return tj.job(name, "PyTorch", {"Worker": worker}, recovery=tj.recovery(max_restarts=1, backoff_seconds=1), **more)


@unittest.skipUnless(os.environ.get("KUBECONFIG"), "KUBECONFIG is not set")
class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = tj.Client()

    def submit(self, suffix, **spec):
        name = self.client.submit(job(f"sdk-{suffix}-{int(time.time())}", **spec))
        self.addCleanup(self.client.delete, name)
        return name

    def until(self, name, phase):
        """Waits until the job is in a phase, by giving up on wait() for it."""
        class Reached(Exception):
            pass

        def look(status):
            if status["phase"] == phase:
                raise Reached
        with self.assertRaises(Reached):
            self.client.wait(name, 30, look)

    def test_success(self):
        name, phases = self.submit("good", lab={"run_for": "2s"}), []
        status = self.client.wait(name, 60, lambda status: phases.append(status["phase"]))
        self.assertEqual(status["reason"], "LeaderSucceeded")
        self.assertEqual(phases[-2:], ["Running", "Succeeded"])
        self.assertIn("Succeeded", [event["reason"] for event in self.client.events(name)])

    def test_failure(self):
        name = self.submit("bad", lab={"run_for": "1s", "exit_code": "3", "exit_message": "no such file"})
        with self.assertRaises(tj.JobFailed) as caught:
            self.client.wait(name, 60)
        self.assertEqual(caught.exception.reason, "MaxRestartsExceeded")
        self.assertEqual(caught.exception.last_failure["exitCode"], 3)
        self.assertEqual(caught.exception.last_failure["message"], "no such file")

    def test_timeout_suspend_resume(self):
        name = self.submit("slow")
        with self.assertRaisesRegex(TimeoutError, "it is Running"):
            self.client.wait(name, 4)
        self.client.suspend(name)
        self.until(name, "Suspended")
        self.client.resume(name)
        self.until(name, "Running")
        self.assertIn(name, [job["metadata"]["name"] for job in self.client.list()])

    def test_scale_within_bounds_only(self):
        name = self.submit("elastic", elastic=tj.elastic(1, 3))
        self.until(name, "Running")
        self.client.scale(name, 3)
        self.assertEqual(self.client.get(name)["spec"]["replicaSpecs"]["Worker"]["replicas"], 3)
        with self.assertRaisesRegex(tj.ApiError, "between elastic.minReplicas and elastic.maxReplicas"):
            self.client.scale(name, 4)

    def test_the_api_server_says_what_to_write_instead(self):
        wrong = tj.job("sdk-wrong", "JAX", {"PS": tj.replicas(image="i"), "Worker": tj.replicas(image="i")})
        with self.assertRaisesRegex(tj.ApiError, "a JAX job has the roles Worker and Evaluator"):
            self.client.submit(wrong)

    def test_delete_waits_for_the_pods(self):
        name = self.client.submit(job(f"sdk-gone-{int(time.time())}", lab={"terminate_after": "3s"}))
        self.until(name, "Running")
        began = time.monotonic()
        self.client.delete(name, wait=True, timeout_seconds=60)
        self.assertGreater(time.monotonic() - began, 2)
        with self.assertRaises(tj.JobNotFound):
            self.client.get(name)


if __name__ == "__main__":
    unittest.main()
