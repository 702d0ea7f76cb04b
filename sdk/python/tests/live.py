"""Against a cluster with the operator and the lab's pods (test/lab), as make sdk does: KUBECONFIG=... python -m unittest tests.live

Pods end by the annotations of the lab, so elsewhere these jobs would run for ever.
"""

import os
import time
import unittest

import trainingjob as tj
from trainingjob.kubeflow import TrainingClient

LAB = "lab.trainingjob.dev/"
WAIT = 120  # seconds that are more than enough, on a busy machine too


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

    def until(self, name, kind):
        """Waits until a condition of the job is True."""
        return self.client.wait(name, WAIT, until=kind)

    def told(self, name, reason, least=1):
        """Returns the messages of the Events of that reason, and waits for at least so many: Events come after the status."""
        for _ in range(WAIT):
            messages = [event["message"] for event in self.client.events(name) if event["reason"] == reason]
            if len(messages) >= least:
                break
            time.sleep(1)
        return messages

    def test_success(self):
        name, phases = self.submit("good", lab={"run_for": "2s"}), []
        status = self.client.wait(name, WAIT, lambda status: phases.append(status["phase"]))
        self.assertEqual(status["reason"], "LeaderSucceeded")
        self.assertEqual(phases[-2:], ["Running", "Succeeded"])
        self.assertEqual(len(self.told(name, "Succeeded")), 1)

    def test_failure(self):
        name = self.submit("bad", lab={"run_for": "1s", "exit_code": "3", "exit_message": "no such file"})
        with self.assertRaises(tj.JobFailed) as caught:
            self.client.wait(name, WAIT)
        self.assertEqual(caught.exception.reason, "MaxRestartsExceeded")
        self.assertEqual(caught.exception.last_failure["exitCode"], 3)
        self.assertIn(caught.exception.replica, ("worker-0", "worker-1"))
        self.assertEqual((caught.exception.exit_code, caught.exception.last_words), (3, "no such file"))
        why = str(self.client.why(name))
        self.assertIn(f"{name} has failed (MaxRestartsExceeded)", why)
        self.assertIn("Last words: 'no such file'", why)
        attempts = self.client.timeline(name).attempts
        self.assertEqual([attempt.number for attempt in attempts], [0, 1])
        self.assertEqual(attempts[0].incidents[-1]["exitCode"], 3)
        self.assertIsNotNone(attempts[-1].end)

    def test_timeout_suspend_resume(self):
        name = self.submit("slow")
        self.until(name, "Running")
        with self.assertRaisesRegex(TimeoutError, "it is Running"):
            self.client.wait(name, 1)
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

    def test_what_can_never_be_is_not_waited_for(self):
        name = self.submit("over", lab={"run_for": "1s"})
        self.client.wait(name, WAIT)
        with self.assertRaisesRegex(tj.TrainingJobError, "will not become Running"):
            self.client.wait(name, WAIT, until="Running")
        self.assertEqual(self.client.wait(name, WAIT, until=["Failed", "Finished"])["phase"], "Succeeded")

    def test_restart_is_charged_to_nobody_and_told(self):
        name = self.submit("again")
        self.until(name, "Running")
        self.assertEqual(self.client.restart(name, reason="its loader hangs"), 2)
        for _ in range(WAIT):
            status = self.client.get(name)["status"]
            if status.get("attempt") == 1 and status["ready"] == "2/2":
                break
            time.sleep(1)
        self.assertEqual((status["restarts"], status.get("chargedRestarts", 0), status["incidents"][0]["reason"]), (1, 0, "RestartRequested"))
        self.assertEqual(status["incidents"][0]["cause"], "Requested")
        self.assertTrue(status["incidents"][0]["message"].endswith("with the Python SDK: its loader hangs"))
        self.assertEqual(self.client.restart(name, "worker-1"), 1)
        for _ in range(WAIT):
            status = self.client.get(name)["status"]
            if status["restarts"] == 2 and status["ready"] == "2/2":
                break
            time.sleep(1)
        self.assertEqual((status.get("chargedRestarts", 0), status["incidents"][0]["reason"], status.get("lastFailure")), (0, "RestartRequested", None))
        self.assertIn("A user requested a restart of worker-1 (", "".join(self.told(name, "Restarting", least=2)))
        with self.assertRaisesRegex(tj.TrainingJobError, "no pod of replica worker-7: there are worker-0, worker-1"):
            self.client.restart(name, "worker-7")

    def test_wrong_choices_of_logs_say_what_to_write_instead(self):
        name = self.submit("choice", suspend=True)
        for said, chosen in (("the job has the ranks 0 to 1", {"rank": 2}), ("such as '0,3-7,last'", {"rank": "first"}), ("has the roles Worker", {"role": "PS"}),
                             ("write a number from 0 on, or 'all'", {"attempt": "last"})):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                self.client.logs(name, **chosen)
        with self.assertRaisesRegex(tj.TrainingJobError, "a log goes with its pod"):
            list(self.client.logs(name, rank="0-last"))

    def test_lists_by_label_phase_and_namespace(self):
        name = self.submit("listed", labels={"sdk": "listed"}, suspend=True)
        self.until(name, "Suspended")
        def names(**chosen):
            return [job["metadata"]["name"] for job in self.client.list(**chosen)]
        self.assertEqual(names(labels="sdk=listed"), [name])
        self.assertEqual(names(labels="sdk=listed", phase="Suspended"), [name])
        self.assertEqual(names(labels="sdk=listed", phase="Running"), [])
        elsewhere = tj.Client("kube-system", self.client._api)
        self.assertEqual(elsewhere.list(labels="sdk=listed"), [])
        self.assertEqual([job["metadata"]["name"] for job in elsewhere.list(labels="sdk=listed", all_namespaces=True)], [name])

    def test_apply_creates_and_changes(self):
        name = f"sdk-applied-{int(time.time())}"
        self.addCleanup(self.client.delete, name)
        wanted = job(name, suspend=True)
        self.client.apply(wanted)
        self.client.apply(job(name, workers=3, suspend=True))
        self.assertEqual(self.client.get(name)["spec"]["replicaSpecs"]["Worker"]["replicas"], 3)
        with self.assertRaisesRegex(tj.ApiError, "runPolcy: field not declared"):
            self.client.apply({**wanted, "spec": {**wanted["spec"], "runPolcy": {}}}, dry_run=True)

    def test_train_makes_what_the_api_server_takes_with_each_framework(self):
        for framework in ("TensorFlow", "PyTorch", "JAX", "XGBoost", "LightGBM", "Paddle", "Custom"):
            with self.subTest(framework):
                made = tj.train("sdk-shape", command=["run"], image="i", workers=2, framework=framework, dry_run=True,
                                resources={"cpu": "1", "memory": "1Gi", "gpu": 1}, volumes={"/data": "data:ro"}, env={"A": 1},
                                gang="Native", queue="q", elastic=(1, 2) if framework == "PyTorch" else None)
                self.client.submit(made, dry_run=True)

    def test_a_misspelt_field_is_refused_and_not_dropped(self):
        wrong = job("sdk-wrong")
        wrong["spec"]["runPolcy"] = {}
        with self.assertRaisesRegex(tj.ApiError, "unknown field .*runPolcy"):
            self.client.submit(wrong)

    def test_the_names_of_kubeflow(self):
        name = self.submit("names", lab={"run_for": "2s"})
        kubeflow = TrainingClient(client=self.client)
        seen = []
        self.assertEqual(kubeflow.wait_for_job_conditions(name, {"Succeeded", "Failed"}, WAIT, lambda status: seen.append(status["phase"]))
                         ["metadata"]["name"], name)
        self.assertIn("Succeeded", seen)
        self.assertTrue(kubeflow.is_job_succeeded(name))
        self.assertFalse(kubeflow.is_job_running(name))
        self.assertEqual(kubeflow.get_job_pod_names(name, is_master=True), [f"{name}-worker-0"])
        self.assertIn(name, [found["metadata"]["name"] for found in kubeflow.list_jobs()])

    def test_the_api_server_says_what_to_write_instead(self):
        wrong = tj.job("sdk-wrong", "JAX", {"PS": tj.replicas(image="i"), "Worker": tj.replicas(image="i")})
        with self.assertRaisesRegex(tj.ApiError, "a JAX job has the roles Worker and Evaluator"):
            self.client.submit(wrong)

    def test_delete_waits_for_the_pods(self):
        name = self.client.submit(job(f"sdk-gone-{int(time.time())}", lab={"terminate_after": "3s"}))
        self.until(name, "Running")
        began = time.monotonic()
        self.client.delete(name, wait=True, timeout_seconds=WAIT)
        self.assertGreater(time.monotonic() - began, 2)
        with self.assertRaises(tj.JobNotFound):
            self.client.get(name)


if __name__ == "__main__":
    unittest.main()
