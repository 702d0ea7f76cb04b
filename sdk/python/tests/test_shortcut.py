"""train() writes the job that its arguments say."""

import json
import pathlib
import subprocess
import sys
import unittest
import warnings

import trainingjob as tj
from trainingjob.shortcut import forgets


def made(**arguments):
    return tj.train("j", image="i", command=["run"], dry_run=True, **arguments)


def spec_of(job, role="Worker"):
    return job["spec"]["replicaSpecs"][role]["template"]["spec"]


class Lazy(unittest.TestCase):
    def test_modules_of_the_readme_need_no_import(self):
        code = "import trainingjob; trainingjob.kubeflow.TrainingClient; trainingjob.kfp; assert not hasattr(trainingjob, 'kubflow')"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=pathlib.Path(__file__).parents[1])


class Forgetful(unittest.TestCase):
    def test_the_same_cases_as_kubectl_tj(self):
        table = json.loads((pathlib.Path(__file__).parent / "golden/volumes.json").read_text(encoding="utf-8"))
        for case in table["cases"]:
            job = {"spec": {"replicaSpecs": {"Worker": {"template": {"spec": case["pod"]}}}}}
            self.assertEqual(forgets(job), table["sentences"][case["want"]], case["name"])

    def test_train_warns(self):
        with self.assertWarnsRegex(UserWarning, "No volume outlives a pod"):
            made()
        with self.assertWarnsRegex(UserWarning, "No volume that it writes to"):
            made(volumes={"/data": "data:ro"})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made(volumes={"/checkpoints": "claim"})


class Written(unittest.TestCase):
    maxDiff = None

    def test_everything(self):
        job = made(args=["x"], workers=3, ps=2, framework="TensorFlow", resources={"cpu": "500m", "memory": "2Gi", "gpu": 1, "rdma/hca": 1},
                   env={"LR": 0.1}, volumes={"/data": "data:ro", "/dev/shm": {"emptyDir": {"medium": "Memory"}}}, gang="Native", queue="q",
                   recovery=tj.recovery(max_restarts=1), node_selector={"pool": "a"}, tolerations=[{"key": "gpu", "operator": "Exists"}],
                   namespace="team", run_policy=tj.run_policy(ttl_seconds_after_finished=1))
        container = {
            "name": "main", "image": "i", "command": ["run", "x"], "env": [{"name": "LR", "value": "0.1"}],
            "volumeMounts": [{"name": "volume-0", "mountPath": "/data", "readOnly": True}, {"name": "volume-1", "mountPath": "/dev/shm"}],
            "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi", "nvidia.com/gpu": 1, "rdma/hca": 1}}}
        pod = {"containers": [container], "nodeSelector": {"pool": "a"}, "tolerations": [{"key": "gpu", "operator": "Exists"}],
               "volumes": [{"name": "volume-0", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "volume-1", "emptyDir": {"medium": "Memory"}}]}
        server = {**pod, "containers": [{**container, "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}}]}
        self.assertEqual(job, {
            "apiVersion": "trainingjob.dev/v1alpha1", "kind": "TrainingJob",
            "metadata": {"name": "j", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
            "spec": {"framework": "TensorFlow", "recovery": {"maxRestarts": 1}, "scheduling": {"gang": "Native"},
                     "runPolicy": {"ttlSecondsAfterFinished": 1},
                     "replicaSpecs": {"Worker": {"replicas": 3, "template": {"spec": pod}}, "PS": {"replicas": 2, "template": {"spec": server}}}}})

    def test_elastic_bounds_are_a_pair(self):
        self.assertEqual(made(elastic=(2, 4), workers=2)["spec"]["elastic"], {"minReplicas": 2, "maxReplicas": 4})

    def test_an_elastic_job_begins_with_the_least(self):
        self.assertEqual(made(elastic=(2, 4))["spec"]["replicaSpecs"]["Worker"]["replicas"], 2)

    def test_what_is_wrong_says_what_to_write_instead(self):
        for said, arguments in (("an MPI job has a launcher", {"framework": "MPI"}), ("workers is 0: write a whole number from 1", {"workers": 0}),
                                ("write an amount such as 4", {"resources": {"cpu": "many"}}),
                                ("write cpu, memory, ephemeral-storage, gpu", {"resources": {"gpus": 1}}),
                                ("write a path such as '/data'", {"volumes": {"data": "/data"}}),
                                ("processes_per_worker is torchrun's", {"framework": "JAX", "processes_per_worker": 2}),
                                ("write resources={'gpu': 8}", {"gpus": 8}),
                                ("with elastic=(2, 4) write workers=2 to 4", {"elastic": (2, 4), "workers": 1}),
                                ("resources['gpu'] is 0.5: write a whole number", {"resources": {"gpu": 0.5}}),
                                ("resources['amd.com/gpu'] is '500m': write a whole number", {"resources": {"amd.com/gpu": "500m"}}),
                                ("write TensorFlow, PyTorch", {"framework": "pytorch"}), ("unknown gang", {"gang": "Kueue"})):
            with self.subTest(said), self.assertRaises(ValueError) as caught:
                made(**arguments)
            self.assertIn(said, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
