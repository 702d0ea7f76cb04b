"""The pods of placed.yaml: each has a claim that is allocated and reserved for it, and each Job has a rack of its own."""

import time

from kubernetes import client, config

config.load_kube_config()
core, claims = client.CoreV1Api(), client.ResourceV1Api()
deadline = time.monotonic() + 120
while True:
    pods = core.list_namespaced_pod("default", label_selector="jobset.sigs.k8s.io/jobset-name=placed").items
    if len(pods) == 4 and all(pod.status.phase == "Running" for pod in pods):
        break
    assert time.monotonic() < deadline, [(pod.metadata.name, pod.status.phase, pod.status.conditions) for pod in pods]
    time.sleep(1)

racks = {}
for pod in pods:
    node = core.read_node(pod.spec.node_name)
    racks.setdefault(pod.metadata.labels["jobset.sigs.k8s.io/job-index"], set()).add(node.metadata.labels["topology.kubernetes.io/rack"])
    (status,) = pod.status.resource_claim_statuses
    claim = claims.read_namespaced_resource_claim(status.resource_claim_name, "default")
    assert claim.status.allocation.devices.results[0].driver == "placed.example.com", claim.status
    assert [user.uid for user in claim.status.reserved_for] == [pod.metadata.uid], claim.status
assert all(len(own) == 1 for own in racks.values()) and racks["0"] != racks["1"], racks
