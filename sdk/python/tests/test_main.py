"""The command line: its lines and its exit status."""

import contextlib
import io
import json
import tempfile
import unittest

import trainingjob as tj
from tests.fake import FakeApi, changes, job
from trainingjob.__main__ import main

MADE = tj.job("j", "JAX", {"Worker": tj.replicas(image="i")}, namespace="team-a")
FIRST = {"role": "Worker", "index": 1, "pod": "j-worker-1-a0r0", "node": "gpu-2", "reason": "OOMKilled", "exitCode": 137}


class CommandLine(unittest.TestCase):
    def run_main(self, *words, api=None):
        namespaces = []

        def connect(namespace):
            namespaces.append(namespace)
            return tj.Client(namespace, api)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(words), connect)
        return code, out.getvalue(), err.getvalue(), namespaces

    def submit(self, api, text, *words):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            return self.run_main("submit", file.name, *words, api=api)

    def test_submit_and_wait_prints_the_name_and_a_line_per_change(self):
        api = FakeApi([job(1)], [changes(job(2, "Running", "AllReplicasRunning"), job(3, "Succeeded", "LeaderSucceeded"))])
        code, out, err, namespaces = self.submit(api, json.dumps(MADE), "--wait")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "j\nRunning: AllReplicasRunning: why\nSucceeded: LeaderSucceeded: why\n")
        self.assertEqual(namespaces, ["team-a"])

    def test_submit_alone_does_not_wait(self):
        api = FakeApi([])
        self.assertEqual(self.submit(api, json.dumps(MADE))[:2], (0, "j\n"))
        self.assertEqual(api.asked, [("create", "team-a", "j")])

    def test_a_failed_job_ends_with_1_and_names_what_broke(self):
        api = FakeApi([job(1, "Failed", "MaxRestartsExceeded", lastFailure=FIRST)])
        code, out, err, _ = self.run_main("wait", "j", api=api)
        self.assertEqual((code, out), (1, "Failed: MaxRestartsExceeded: why\n"))
        self.assertEqual(err, "error: MaxRestartsExceeded: why\n"
                              "first failure: pod j-worker-1-a0r0 on node gpu-2, OOMKilled, exit code 137\n")

    def test_everything_else_that_goes_wrong_ends_with_1_and_one_line(self):
        cases = (
            (self.run_main("wait", "j", api=FakeApi([])), "error: no TrainingJob j\n"),
            (self.run_main("submit", "/no/such/file"), "error: [Errno 2] No such file"),
            (self.submit(FakeApi([]), '{"kind": "Job"}'), "error: kind is 'Job': write kind: TrainingJob\n"),
            (self.submit(FakeApi([]), "[]"), "write one TrainingJob\n"),
        )
        for (code, _, err, _), said in cases:
            with self.subTest(said):
                self.assertEqual(code, 1)
                self.assertIn(said, err)
                self.assertEqual(err.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
