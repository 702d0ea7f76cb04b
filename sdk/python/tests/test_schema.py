"""The functions know every field that the API has: what they return, all arguments given, is compared with the schema."""

import ast
import json
import pathlib
import unittest

import trainingjob as tj

HERE = pathlib.Path(__file__).parents[1]
SCHEMA = json.loads((HERE.parents[1] / "manifests/schema/trainingjob.dev_v1alpha1_trainingjob.json").read_text(encoding="utf-8"))

RENDEZVOUS = {"rendezvous_backend": "c10d", "rendezvous_endpoint": "etcd:2379", "rendezvous_conf": ["timeout=900"]}
PARTS = {
    "elastic": tj.elastic(1, 2, **RENDEZVOUS),
    "runPolicy": tj.run_policy(clean_pod_policy="All", ttl_seconds_after_finished=1, active_deadline_seconds=1, startup_deadline_seconds=1,
                               finish_grace_seconds=1),
    "recovery": tj.recovery(
        max_restarts=1, max_oom_restarts=1, max_hang_restarts=1, window_seconds=60, incident_window_seconds=1, no_progress_limit=1, same_crash_limit=4,
        avoid_nodes_seconds=1, backoff_seconds=1, max_backoff_seconds=1, force_after_seconds=1,
        restart_method="InPlace", termination_grace_seconds=1, rules=[
            {**tj.rule(name="n", container_name="c", roles=["Worker"], exit_codes=[1], signals=[9], reasons=["Error"], conditions=["Ready"], cause="OOM", scope="Job"),
             **tj.rule(cause="Fatal")}]),
    "scheduling": tj.scheduling(gang="Volcano", min_available=1, queue="q", priority_class="p", scheduler_name="s", topology_key="k",
                                topology_required=True, topology_tier=1, topology_roles=["Worker"], timeout_seconds=1),
    "mpi": tj.mpi(slots_per_worker=8, launch_agent="SSH"),
    "network": tj.network(dns_names="All"),
    "progress": tj.progress(port=9500, stall_after_seconds=10, action="Restart", checkpoint_grace_seconds=30),
}
WHOLE = tj.job("j", "PyTorch", {"Worker": tj.replicas(
    1, image="i", restart_policy="Never", restart_scope="Job")},
    suspend=True, managed_by="m", success_policy="Leader", elastic=PARTS["elastic"], mpi=PARTS["mpi"], network=PARTS["network"], run_policy=PARTS["runPolicy"],
    recovery=PARTS["recovery"], scheduling=PARTS["scheduling"], progress=PARTS["progress"])


def missing(schema: dict, value, path: str) -> list:
    """Returns the fields of the schema that the value lacks, and those of the value that the schema lacks; not within pod templates."""
    if path.endswith(".template"):
        return []
    if isinstance(value, list):
        return missing(schema["items"], value[0], path + "[]") if "properties" in schema["items"] else []
    if isinstance(schema.get("additionalProperties"), dict):
        return [wrong for key in value for wrong in missing(schema["additionalProperties"], value[key], f"{path}.{key}")]
    fields = schema.get("properties", {})
    if not isinstance(value, dict):
        return []
    wrong = [f"{path}.{name}" for name in sorted(set(fields) ^ set(value))]
    return wrong + [deeper for name in sorted(set(fields) & set(value)) for deeper in missing(fields[name], value[name], f"{path}.{name}")]


class Schema(unittest.TestCase):
    def test_every_field_of_the_spec_can_be_given(self):
        self.assertEqual(missing(SCHEMA["properties"]["spec"], WHOLE["spec"], "spec"), [])

    def test_a_field_that_is_missing_is_found(self):
        del WHOLE["spec"]["recovery"]["rules"][0]["cause"]
        self.addCleanup(WHOLE["spec"]["recovery"]["rules"][0].__setitem__, "cause", "Fatal")
        self.assertIn("spec.recovery.rules[].cause", missing(SCHEMA["properties"]["spec"], WHOLE["spec"], "spec"))


class Types(unittest.TestCase):
    def test_the_package_says_that_it_has_types(self):
        self.assertTrue((HERE / "trainingjob/py.typed").exists())
        self.assertIn('trainingjob = ["py.typed"]', (HERE / "pyproject.toml").read_text(encoding="utf-8"))

    def test_no_annotation_in_a_class_means_a_method_of_that_class(self):
        """In a class with a method list, a type checker reads list[dict] as that method."""
        for path in sorted((HERE / "trainingjob").glob("*.py")):
            for found in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(found, ast.ClassDef):
                    methods = [each for each in found.body if isinstance(each, ast.FunctionDef)]
                    names = {method.name for method in methods}
                    for method in methods:
                        self.assertEqual(names & used(method), set(), f"{path.name}: {found.name}.{method.name}")


def used(method: ast.FunctionDef) -> set:
    """Returns the names in the annotations of a function."""
    arguments = method.args.args + method.args.kwonlyargs
    annotations = [method.returns] + [each.annotation for each in arguments]
    return {name.id for each in annotations if each for name in ast.walk(each) if isinstance(name, ast.Name)}


if __name__ == "__main__":
    unittest.main()
