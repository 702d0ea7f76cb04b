"""python -m trainingjob.kfp: what a step of a workflow of Argo gets, writes and leaves behind; and the component of kfp 1.8."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import trainingjob as tj
import trainingjob.kfp
import yaml
from tests.fake import FakeApi, job
from trainingjob.kfp import __main__ as command
from trainingjob.kfp import launch, step, termination

MADE = json.dumps(tj.job("j", "JAX", {"Worker": tj.replicas(image="i")}))
FAILURE = {"role": "Worker", "index": 1, "exitCode": 3, "message": "no such file", "pod": "j-worker-1"}
NAMED = ("--name", "ResNet", "--job", MADE, "--run", "uid", "--task", "wf.train")


class Api(FakeApi):
    """An API server on which a job ends at once."""

    def __init__(self, *ended, **status):
        there = job(1, *ended, **status)
        there["spec"] = {"replicaSpecs": {"Worker": {}}}
        super().__init__([there] * 9)

    def pods(self, namespace, labels):
        return {"items": [], "metadata": {"resourceVersion": "1"}}


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.termination = self.folder / "termination-log"

    def run_command(self, api, *arguments):
        """Returns the exit status, and what was written to stdout and stderr."""
        said = io.StringIO()
        with mock.patch.object(step, "Client", lambda namespace: tj.Client(namespace, api)), \
                mock.patch.object(step, "TERMINATION_LOG", str(self.termination)), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return command.main([*NAMED, *arguments]), said.getvalue()

    def test_outputs_are_files(self):
        files = {output: self.folder / output / "data" for output in command.OUTPUTS}
        api = Api("Succeeded", "LeaderSucceeded", runningSeconds=9, restarts=2)
        status, said = self.run_command(api, *(f"--write={output}={file}" for output, file in files.items()))
        self.assertEqual(status, 0, said)
        texts = {output: file.read_text() for output, file in files.items()}
        self.assertRegex(texts["name"], "^resnet-[0-9a-f]{10}$")
        self.assertEqual((texts["phase"], texts["restarts"]), ("Succeeded", "2"))
        self.assertIn({"name": "running-seconds", "numberValue": 9, "format": "RAW"}, json.loads(texts["metrics"])["metrics"])

    def test_a_failure_is_the_termination_message_of_the_pod(self):
        self.termination.touch()
        status, said = self.run_command(Api("Failed", "MaxRestartsExceeded", lastFailure=FAILURE))
        self.assertEqual(status, 1)
        for text in (said, self.termination.read_text()):
            self.assertIn("Replica worker-1 broke last with exit code 3. Last words: no such file", text)

    def test_outside_of_kubernetes_no_termination_message_is_made(self):
        self.assertEqual(self.run_command(Api("Failed", "MaxRestartsExceeded", lastFailure=FAILURE))[0], 1)
        self.assertFalse(self.termination.exists())

    def test_a_termination_has_the_status_of_a_signal(self):
        with mock.patch.object(launch, "run", side_effect=termination.Terminated):
            self.assertEqual(self.run_command(Api("Running"))[0], 143)

    def test_wrong_arguments_say_what_to_write(self):
        for wrong, want in ((("--job", "{"), "no JSON"), (("--job", "{}"), "write the manifest of a TrainingJob"),
                            (("--write", "loss=/f"), "write OUTPUT=FILE, where OUTPUT is name, phase"), (("--write", "name"), "write OUTPUT=FILE")):
            said = io.StringIO()
            with self.subTest(wrong), self.assertRaises(SystemExit) as caught, contextlib.redirect_stderr(said):
                command.main([*NAMED, *wrong])
            self.assertEqual(caught.exception.code, 2)
            self.assertIn(want, said.getvalue())


class Component(unittest.TestCase):
    def test_the_command_takes_what_the_component_passes(self):
        component = yaml.safe_load(pathlib.Path(trainingjob.kfp.COMPONENT).read_text(encoding="utf-8"))
        values = {"name": "x", "job": MADE, "namespace": "", "on_termination": "delete"}
        self.assertEqual(values.keys(), {each["name"] for each in component["inputs"]})
        outputs = {each["name"] for each in component["outputs"]}
        arguments, written = [], set()
        for each in component["implementation"]["container"]["args"]:
            prefix, placeholder = each["concat"] if isinstance(each, dict) else (each, {"inputValue": None})
            if "outputPath" in placeholder:
                written.add(placeholder["outputPath"])
            arguments.append(prefix + str(values.get(placeholder.get("inputValue"), "/file" if "outputPath" in placeholder else "")))
        self.assertEqual(written, outputs)
        args = command._parser().parse_args(arguments)
        self.assertEqual({output for output, _ in args.write}, set(command.OUTPUTS))
        self.assertEqual((args.on_termination, args.run, args.task), ("delete", "{{workflow.uid}}", "{{node.name}}"))


if __name__ == "__main__":
    unittest.main()
