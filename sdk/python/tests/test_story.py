"""What the SDK writes about a job, from its status alone."""

import unittest

from trainingjob import story

ASKED = {"role": "Worker", "index": 1, "attempt": 0, "cause": "Requested", "reason": "RestartRequested", "pod": "j-worker-1", "node": "gpu-1",
         "message": "ann with the Python SDK: slow disk", "time": "2026-01-05T12:00:00Z", "restartTime": "2026-01-05T12:00:00Z", "scope": "Job"}


def job(**status):
    return {"metadata": {"name": "j"}, "spec": {}, "status": {"phase": "Running", "reason": "AllReplicasRunning", "attempt": 1, "restarts": 1, **status}}


class Story(unittest.TestCase):
    def test_a_requested_restart_is_no_failure(self):
        one, whole = job(incidents=[ASKED]), job(incidents=[{**ASKED, "pod": ""}])
        said = "a user requested a restart of worker-1 (ann with the Python SDK: slow disk): the whole job restarted, not charged"
        self.assertIn(said, str(story.timeline(one)))
        self.assertIn(f"At 2026-01-05T12:00:00Z {said}.", str(story.why(one, [], [])))
        self.assertIn("a user requested a restart (ann", str(story.timeline(whole)))
        self.assertNotIn("broke", str(story.timeline(one)) + str(story.why(one, [], [])))

    def test_a_wait_that_is_over_is_no_fact(self):
        for next_start, waits in (("2026-01-05T12:00:00Z", False), ("2999-01-05T12:00:00Z", True)):
            self.assertEqual("Back-off" in str(story.why(job(nextStartTime=next_start), [], [])), waits, next_start)


if __name__ == "__main__":
    unittest.main()
