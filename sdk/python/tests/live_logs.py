"""Logs of real pods, followed through restarts, while connections break: every line is numbered, none may be missing and none come twice.

    make lab REAL=1; KUBECONFIG=.lab/kubeconfig LAB=bin/lab python -m unittest tests.live_logs
"""

import os
import re
import subprocess
import threading
import time
import unittest

import trainingjob as tj
from tests.live import WAIT
from trainingjob.errors import ApiError
from trainingjob.kube import Kube

STEP = re.compile(r": step (\d+)$")


class Breaking(Kube):
    """A connection whose logs and watches break off again and again."""

    breaks = 0

    def _stream(self, path, query, timeout):
        end = time.monotonic() + 1.5
        for piece in super()._stream(path, query, timeout):
            yield piece
            if time.monotonic() > end:
                self.breaks += 1
                raise ApiError(0, "broken by the test")


@unittest.skipUnless(os.environ.get("KUBECONFIG") and os.environ.get("LAB"), "KUBECONFIG and LAB are not set: it needs a lab with real nodes")
class Followed(unittest.TestCase):
    def setUp(self):
        self.client = tj.Client()

    def kubectl(self, *words):
        return subprocess.run([os.environ["LAB"], "kubectl", *words], check=True, capture_output=True, text=True).stdout

    def until_all_run(self, name, attempt):
        for _ in range(WAIT * 5):
            status = self.client.get(name).get("status", {})
            if (status.get("attempt"), status.get("ready")) == (attempt, "3/3"):
                time.sleep(3)  # for lines to be said, not for anything to be ready
                return
            time.sleep(0.2)
        self.fail(f"attempt {attempt} does not run: {self.client.why(name)}")

    def follow(self, api):
        name = f"sdk-logs-{int(time.time())}"
        worker = tj.template(image="lab.local/trainer:1", env={"STEP_TIME": "20ms"})
        worker["spec"]["containers"][0]["imagePullPolicy"] = "Never"
        worker["spec"]["nodeSelector"] = {"lab.trainingjob.dev/real": "true"}
        self.client.submit(tj.job(name, "PyTorch", {"Worker": tj.replicas(3, template=worker)},
                                  recovery=tj.recovery(max_restarts=9, backoff_seconds=1, max_backoff_seconds=1)))
        self.addCleanup(self.client.delete, name, wait=True, timeout_seconds=WAIT)
        lines, gaps = [], []
        reading = threading.Thread(target=lambda: lines.extend(tj.Client(api=api).logs(name, follow=True, on_gap=gaps.append)))
        reading.start()
        self.until_all_run(name, 0)
        self.kubectl("exec", f"{name}-worker-1", "--", "/program", "do", "exit", "3", "no data")
        self.until_all_run(name, 1)
        self.client.restart(name)
        self.until_all_run(name, 2)
        leader = [each["metadata"]["name"] for each in self.client.pods(name) if each["metadata"]["labels"]["trainingjob.dev/life"] == "2-0"][0]
        self.kubectl("exec", leader, "--", "/program", "do", "exit", "0")
        self.assertEqual(self.client.wait(name, WAIT)["phase"], "Succeeded")
        reading.join(WAIT)
        self.assertFalse(reading.is_alive())
        return lines, gaps

    def account(self, lines, gaps):
        """Holds the lines of each life against what the program must have said: its first step, then every tenth."""
        self.assertEqual(gaps, [])
        for rank in range(3):
            for attempt in range(3):
                texts = [line.text for line in lines if (line.rank, line.attempt) == (rank, attempt)]
                steps = [int(found[1]) for found in map(STEP.search, texts) if found]
                self.assertEqual(steps, [1, *range(10, steps[-1] + 1, 10)], f"rank {rank}, attempt {attempt}")
                self.assertGreater(len(steps), 3)
                self.assertEqual(sum("starts, as process" in text for text in texts), 1)
        self.assertTrue(any(line.text.endswith("ends with 3 no data") for line in lines if (line.rank, line.attempt) == (1, 0)))

    def test_through_restarts(self):
        self.account(*self.follow(Kube()))

    def test_through_restarts_while_connections_break(self):
        api = Breaking()
        self.account(*self.follow(api))
        self.assertGreater(api.breaks, 10)


if __name__ == "__main__":
    unittest.main()
