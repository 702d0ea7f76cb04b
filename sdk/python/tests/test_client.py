"""What the client asks the API server, and how waiting gets over what happens to watches."""

import unittest
from unittest import mock

import trainingjob as tj
from trainingjob.kubeflow import TrainingClient
from tests.fake import AWAY, GONE, FakeApi, changes, job

DONE = job(9, "Succeeded", "LeaderSucceeded")


@mock.patch("trainingjob.follow.PAUSE_SECONDS", 0.001)
class Waiting(unittest.TestCase):
    def wait(self, api, timeout_seconds=5):
        seen = []
        status = tj.Client(api=api).wait("j", timeout_seconds, lambda status: seen.append(status["phase"]))
        return status, seen

    def test_success_returns_the_status_after_one_call_per_change(self):
        api = FakeApi([job(1)], [changes(job(2, "Created"), job(3, "Running"), job(4, "Running", ready="2/2"), DONE)])
        status, seen = self.wait(api)
        self.assertEqual(status, DONE["status"])
        self.assertEqual(seen, ["Created", "Running", "Succeeded"])

    def test_a_job_that_has_finished_before_needs_no_watch(self):
        api = FakeApi([DONE])
        self.wait(api)
        self.assertEqual(api.asked, [("get",)])

    def test_failure_raises_reason_message_and_last_failure(self):
        first = {"role": "Worker", "index": 1, "exitCode": 1}
        api = FakeApi([job(1)], [changes(job(2, "Failed", "FatalExit", lastFailure=first))])
        with self.assertRaises(tj.JobFailed) as caught:
            self.wait(api)
        failed = caught.exception
        self.assertEqual((failed.reason, failed.message, failed.last_failure), ("FatalExit", "why", first))

    def test_a_watch_that_ends_is_resumed_from_the_version_seen_last(self):
        api = FakeApi([job(1)], [changes(job(5, "Running")), [], changes(DONE)])
        self.wait(api)
        self.assertEqual(api.asked, [("get",), ("watch", "1"), ("watch", "5"), ("watch", "5")])

    def test_410_gone_begins_anew_with_a_get(self):
        for gone in ([GONE], GONE):  # as an event of the watch, and in answer to its request
            with self.subTest(type(gone).__name__):
                api = FakeApi([job(1), job(7, "Running")], [gone, changes(DONE)])
                self.wait(api)
                self.assertEqual(api.asked, [("get",), ("watch", "1"), ("get",), ("watch", "7")])

    def test_what_happened_while_the_server_was_away_is_in_the_next_get(self):
        api = FakeApi([job(1), AWAY, AWAY, DONE], [[*changes(job(2, "Running")), AWAY]])
        self.assertEqual(self.wait(api)[1], ["Running", "Succeeded"])

    def test_no_answer_to_the_first_question_is_an_error_at_once(self):
        with self.assertRaises(tj.ApiError):
            self.wait(FakeApi([AWAY, DONE]))

    def test_a_refusal_is_an_error_at_once(self):
        with self.assertRaises(tj.ApiError) as caught:
            self.wait(FakeApi([job(1), DONE], [tj.ApiError(403, "may not watch")]))
        self.assertEqual(caught.exception.status, 403)

    def test_time_that_runs_out_says_how_the_job_is(self):
        with self.assertRaisesRegex(TimeoutError, "within 0.05 seconds: it is Running, why"):
            self.wait(FakeApi([job(1, "Running", "AllReplicasRunning")]), timeout_seconds=0.05)

    def test_a_deleted_job_is_not_found(self):
        cases = {
            "seen by the watch": FakeApi([job(1)], [[("DELETED", job(2, "Running"))]]),
            "seen by a get": FakeApi([job(1)], [GONE]),
            "another job has its name": FakeApi([job(1), job(8, uid="u2")], [GONE]),
        }
        for case, api in cases.items():
            with self.subTest(case), self.assertRaises(tj.JobNotFound):
                self.wait(api)

    def test_a_job_deleted_because_it_finished_has_succeeded(self):
        self.wait(FakeApi([job(1)], [[("DELETED", DONE)]]))


@mock.patch("trainingjob.follow.PAUSE_SECONDS", 0.001)
class Asking(unittest.TestCase):
    def setUp(self):
        self.api = FakeApi([])
        self.client = tj.Client("team-a", self.api)

    def test_each_method_asks_its_question(self):
        made = tj.job("j", "JAX", {"Worker": tj.replicas(image="i")})
        self.api.gets = [job(1) for _ in range(6)]
        self.assertEqual(self.client.submit(made), "j")
        self.client.suspend("j")
        self.client.resume("j")
        self.client.scale("j", 3)
        self.client.delete("j")
        self.assertEqual([asked for asked in self.api.asked if asked[0] != "get"], [
            ("create", "team-a", "j"), ("patch", "j", {"spec": {"suspend": True}}),
            ("patch", "j", {"spec": {"suspend": False}}), ("scale", "j", 3), ("delete", "j", "Background")])

    def test_wrong_manifests_and_numbers_are_not_sent(self):
        made = tj.job("j", "JAX", {"Worker": tj.replicas(image="i")}, namespace="team-b")
        for wrong, said in ((lambda: self.client.submit(made), "team-b"),
                            (lambda: self.client.submit({"kind": "Job"}), "write kind: TrainingJob"),
                            (lambda: self.client.scale("j", -1), "write 0 or more")):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                wrong()
        self.assertEqual(self.api.asked, [])

    def test_words_that_no_job_has_are_refused(self):
        client = self.client
        for said, ask in (("unknown phase 'running': write Created", lambda: client.list(phase="running")),
                          ("unknown until 'running': write Created", lambda: client.wait("m", until="running")),
                          ("unknown until 'Done'", lambda: client.wait("m", until=("Failed", "Done"))),
                          ("has no counterpart", lambda: TrainingClient(client=client).train(name="m"))):
            with self.subTest(said), self.assertRaises((ValueError, NotImplementedError)) as caught:
                ask()
            self.assertIn(said, str(caught.exception))

    def test_delete_waits_until_the_job_is_gone(self):
        self.api.gets, self.api.watches = [job(1), job(1)], [changes(job(2)), [("DELETED", job(3))]]
        self.client.delete("j", wait=True, timeout_seconds=5)
        self.assertEqual(self.api.asked[:2], [("get",), ("delete", "j", "Foreground")])
        self.api.gets, self.api.watches = [job(1), job(1)], []
        with self.assertRaises(TimeoutError):
            self.client.delete("j", wait=True, timeout_seconds=0.01)

    def test_lists_are_in_order(self):
        self.assertEqual([job["metadata"]["name"] for job in self.client.list()], ["a", "b"])
        self.assertEqual([event["reason"] for event in self.client.events("j")], ["Resumed", "Running"])


if __name__ == "__main__":
    unittest.main()
