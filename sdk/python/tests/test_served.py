"""Kubeflow jobs that the operator serves, by their own kind and name."""

import unittest
from unittest import mock

import trainingjob as tj
from tests.fake import FakeApi, _answer, changes, job
from trainingjob import served

OWNER = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j", "uid": "k1", "controller": True}


def serving(version: int, *status) -> dict:
    made = job(version, *status)
    made["metadata"]["ownerReferences"] = [OWNER]
    made["spec"] = {"replicaSpecs": {"Worker": {"replicas": 2}}}
    return made


def pytorch(spec=None, *conditions) -> dict:
    return {"metadata": {"name": "j", "uid": "k1"}, "spec": spec or {}, "status": {"conditions": list(conditions)}}


def queued() -> dict:
    made = pytorch()
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "vision"}
    return made


def workload(name: str, owner: str, active: bool, conditions=()) -> dict:
    return {"metadata": {"name": name, "uid": "w1", "ownerReferences": [{"kind": "PyTorchJob", "uid": owner, "controller": True}]},
            "spec": {"active": active}, "status": {"conditions": list(conditions)}}


class Kubeflow(FakeApi):
    """A FakeApi with one PyTorchJob, or none, that keeps what is asked of it."""

    def __init__(self, gets, theirs=None, watches=(), workloads=()):
        super().__init__(gets, watches)
        self.theirs = theirs
        self.workloads = workloads

    def list(self, namespace, labels=None, fields=None, resource="trainingjobs"):
        return _answer(self.workloads) if resource == "workloads" else super().list(namespace, labels, fields)

    def get(self, namespace, name, kubeflow=""):
        if not kubeflow:
            return super().get(namespace, name)
        if self.theirs is None:
            raise tj.JobNotFound(f"no {kubeflow[:-1]} {name} in namespace {namespace}")
        return self.theirs

    def patch(self, namespace, name, patch, kubeflow=""):
        self.asked.append(("patch", kubeflow, name, patch))

    def delete(self, namespace, name, propagation, kubeflow=""):
        self.asked.append(("delete", kubeflow, name, propagation))

    def pods(self, namespace, labels):
        return {"items": [], "metadata": {"resourceVersion": "1"}}


def failed(reason: str) -> dict:
    return {"type": "Failed", "status": "True", "reason": reason, "message": "no role"}


@mock.patch("trainingjob.served.PAUSE_SECONDS", 0.001)
class Served(unittest.TestCase):
    def test_the_names_that_kubectl_takes(self):
        for name, kind in (("j", None), ("tj/j", None), ("pytorchjob/j", "PyTorchJob"), ("PyTorchJobs/j", "PyTorchJob"),
                           ("jaxjobs.kubeflow.org/j", "JAXJob"), ("tfjob.v1.kubeflow.org/j", "TFJob")):
            with self.subTest(name):
                found, plain = served.parse(name)
                self.assertEqual((found and found.name, plain), (kind, "j"))
        with self.assertRaisesRegex(ValueError, "write NAME, tj/NAME or pytorchjob/NAME, tfjob/NAME"):
            served.parse("mpijob/j")

    def test_what_is_read_is_of_the_trainingjob(self):
        running = serving(1, "Running", "AllReplicasRunning")
        client = tj.Client("n", Kubeflow([running] * 4))
        self.assertEqual(client.get("pytorchjob/j"), running)
        self.assertEqual(client.why("pytorchjobs/j").sentence, "j runs (AllReplicasRunning): why")
        self.assertEqual(client.timeline("j").phase, "Running")
        self.assertEqual(len(client.events("pytorchjob/j")), 2)

    def test_waiting_begins_before_the_operator_has_seen_the_job(self):
        missing = tj.JobNotFound("no TrainingJob j")
        api = Kubeflow([missing, serving(1), serving(1)], pytorch(), [changes(serving(2, "Succeeded", "LeaderSucceeded"))])
        self.assertEqual(tj.Client("n", api).wait("pytorchjob/j", 5)["phase"], "Succeeded")

    def test_what_changes_the_job_changes_the_kubeflow_job(self):
        for name in ("j", "pytorchjob/j"):
            with self.subTest(name):
                api = Kubeflow([serving(1) for _ in range(4)], pytorch())
                client = tj.Client("n", api)
                client.suspend(name)
                client.resume(name)
                client.scale(name, 3)
                client.delete(name)
                self.assertEqual([asked for asked in api.asked if asked[0] != "get"], [
                    ("patch", "pytorchjobs", "j", {"spec": {"runPolicy": {"suspend": True}}}),
                    ("patch", "pytorchjobs", "j", {"spec": {"runPolicy": {"suspend": False}}}),
                    ("patch", "pytorchjobs", "j", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}),
                    ("delete", "pytorchjobs", "j", "Background")])

    def test_kueue_stops_and_starts_a_job_of_a_queue_by_its_workload(self):
        given_up = {"type": "Evicted", "status": "True", "reason": "DeactivatedDueToRequeuingLimitExceeded"}
        for does, active, conditions, wanted in (
                ("suspend", True, [], [("patch", "workloads", "w", {"metadata": {"uid": "w1"}, "spec": {"active": False}})]),
                ("resume", False, [], [("patch", "workloads", "w", {"metadata": {"uid": "w1"}, "spec": {"active": True}})]),
                ("resume", False, [given_up], [("delete", "workloads", "w", "Background")])):
            with self.subTest(does):
                api = Kubeflow([serving(1)], queued(), (), [workload("w", "k1", active, conditions), workload("other", "k2", active, conditions)])
                getattr(tj.Client("n", api), does)("pytorchjob/j")
                self.assertEqual([asked for asked in api.asked if asked[0] != "get"], wanted)

    def test_a_job_of_a_queue_that_no_kueue_has_seen_is_suspended_itself(self):
        for workloads in ([], tj.ApiError(404, "the server could not find the requested resource")):
            with self.subTest(workloads):
                api = Kubeflow([serving(1)], queued(), (), workloads)
                tj.Client("n", api).suspend("j")
                self.assertIn(("patch", "pytorchjobs", "j", {"spec": {"runPolicy": {"suspend": True}}}), api.asked)

    def test_delete_waits_for_the_kubeflow_job_too(self):
        api = Kubeflow([serving(1), serving(1)], pytorch(), [[("DELETED", serving(2))]])
        with self.assertRaisesRegex(TimeoutError, "still there"):
            tj.Client("n", api).delete("j", wait=True, timeout_seconds=0.05)
        api = Kubeflow([serving(1), serving(1)], None, [[("DELETED", serving(2))]])
        tj.Client("n", api).delete("pytorchjob/j", wait=True, timeout_seconds=5)

    def test_a_job_that_is_not_served_has_a_cause(self):
        missing = tj.JobNotFound("no TrainingJob j")
        stalled = {"type": "Stalled", "status": "True", "reason": "PyTorchJobNameConflict", "message": "TFJob j has this name"}
        for said, own, theirs in (
                ("no pytorchjob j in namespace n", missing, None),
                ("has no TrainingJob: no operator serves it, or not yet", missing, pytorch()),
                ("another job has its name", job(1), pytorch()),
                ("TFJob j has this name", job(1), pytorch(None, stalled)),
                ("kueue.x-k8s.io/multikueue runs it", missing, pytorch({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})),
                ("it was refused: no role", missing, pytorch(None, failed("PyTorchJobFailedValidation"))),
                ("it has ended \\(Failed\\)", missing, pytorch(None, failed("PyTorchJobFailed")))):
            with self.subTest(said), self.assertRaisesRegex(tj.JobNotFound, said):
                tj.Client("n", Kubeflow([own], theirs)).get("pytorchjob/j")


if __name__ == "__main__":
    unittest.main()
