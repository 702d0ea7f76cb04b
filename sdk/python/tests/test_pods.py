"""Ranks as the operator numbers them, and what a pod's status says of its container."""

import json
import unittest

from trainingjob import pods


def job(elastic=None, **roles):
    spec = {"replicaSpecs": {role: {"replicas": count} for role, count in roles.items()}}
    return {"spec": {**spec, **({"elastic": {"maxReplicas": elastic}} if elastic else {})}}


def pod(policy="Never", phase="Running", restarts=0, **state):
    return {"metadata": {"labels": {"trainingjob.dev/life": "0-0"}}, "spec": {"restartPolicy": policy, "containers": [{"name": "main"}]},
            "status": {"phase": phase, "containerStatuses": [{"name": "main", "restartCount": restarts, "state": state}]}}


class Ranks(unittest.TestCase):
    def test_the_last_rank(self):
        self.assertEqual(pods.last_rank(job(Chief=1, Worker=3, PS=2)), 5)
        self.assertEqual(pods.last_rank(job(elastic=8, Worker=2)), 1)
        self.assertEqual(pods.last_rank(job(elastic=8, Worker=2, Evaluator=1)), 8)
        self.assertEqual(pods.last_rank(job(actor=2, learner=1)), 2)

    def test_a_choice_of_ranks(self):
        for text, ranks in ((None, None), (3, {3}), ("0,3-5,last", {0, 3, 4, 5, 9}), ("8-last", {8, 9})):
            self.assertEqual(pods.chosen_ranks(text, 9), ranks)
        for text in ("", "a", "5-3", "-1", "1,,2", "3-"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "such as '0,3-7,last'"):
                pods.chosen_ranks(text, 9)
        with self.assertRaisesRegex(ValueError, "the ranks 0 to 9"):
            pods.chosen_ranks("0-10", 9)


class Containers(unittest.TestCase):
    def test_an_end_for_good(self):
        for found, ended in ((pod(running={}), False), (pod(terminated={}), True), (pod("OnFailure", terminated={}), False),
                             (pod("OnFailure", "Succeeded", terminated={}), True)):
            self.assertEqual(pods.container(found, "main"), pods.Container(True, ended, 0, False))
        self.assertEqual(pods.container(pod(waiting={"reason": "ContainerCreating"}), "main"), pods.Container())
        gone = {**pod(), "status": {"phase": "Failed"}}
        self.assertTrue(pods.container(gone, "main").gone)

    def test_one_that_is_restarted_in_place_goes_on_as_another_life(self):
        old, now = pods.Life(1, 0), pods.Life(2, 0)
        told = {"life": "2-0", "from": "1-0", "process": "containerd://a"}
        for name, container, restarting, lives in (("in-place-restart", "containerd://a", True, (old, old, now)),
                                                   ("in-place-restart", "containerd://b", False, (now, old, now)),
                                                   ("told", "containerd://b", False, (now, old, now))):
            found = pod(terminated={})
            found["metadata"] = {"labels": {"trainingjob.dev/life": "2-0"}, "annotations": {f"trainingjob.dev/{name}": json.dumps(told)}}
            found["status"]["containerStatuses"][0]["containerID"] = container
            self.assertEqual(pods.lives(found), lives)
            self.assertEqual(pods.container(found, "main"), pods.Container(True, not restarting, 0, False, restarting, lives[0], lives[1]))

    def test_only_what_a_person_can_mend_is_a_reason_to_wait(self):
        self.assertEqual(pods.waiting(pod(waiting={"reason": "ContainerCreating"})), "")
        self.assertEqual(pods.waiting(pod(waiting={"reason": "ErrImagePull", "message": "no such image"})), "ErrImagePull: no such image")


if __name__ == "__main__":
    unittest.main()
