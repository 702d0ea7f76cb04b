"""A function or a script is sent as source: what arrives runs by itself, and what could not is refused with a sentence."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import trainingjob as tj

OUTSIDE = 3


def train(rate, layers=(2, 3), note: "unknown.Type" = "a $(HOME) and $$ 'quoted' \"text\""):  # noqa: F821
    import json
    import os
    def area(width):
        return width * width
    print(json.dumps([rate, list(layers), note, os.environ["SHARD"], area(3), [n for n in range(2)]]))


def uses_outside(rate):
    return rate + OUTSIDE + json.loads("1")


def default_outside(rate=OUTSIDE):
    return rate


async def later():
    pass


def many():
    yield 1


@unittest.skip("a decorator")
def decorated():
    pass


class Holder:
    def method(self):
        pass


def main_of(job):
    return job["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]


def as_kubernetes_does(words):
    """Returns the words of a command as a container gets them where no variable is named: $$ is $, all else stays."""
    return [word.replace("$$", "\0").replace("\0", "$") for word in words]


class Sent(unittest.TestCase):
    def run_it(self, job, **env):
        """Runs the command of the job on this machine, in a folder that has nothing else."""
        words = as_kubernetes_does(main_of(job)["command"])
        self.assertEqual(words[0], "python3")
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([sys.executable, *words[1:]], cwd=folder, env={"TMPDIR": folder, **env}, text=True, capture_output=True)

    def test_a_function_runs_elsewhere_with_its_arguments(self):
        job = tj.train("j", func=train, func_args={"rate": 0.5}, image="i", dry_run=True)
        done = self.run_it(job, SHARD="7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout), [0.5, [2, 3], "a $(HOME) and $$ 'quoted' \"text\"", "7", 9, [0, 1]])

    def test_an_error_in_it_shows_its_line(self):
        done = self.run_it(tj.train("j", func=train, func_args={"rate": 1}, image="i", dry_run=True))
        self.assertEqual(done.returncode, 1)
        self.assertIn('train.py", line ', done.stderr)
        self.assertIn('os.environ["SHARD"]', done.stderr)

    def test_a_script_gets_its_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "fit.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import sys\nprint(sys.argv[1:], '$(X)')\n")
            job = tj.train("j", script=path, args=["--lr", "0.1"], image="i", dry_run=True)
        self.assertEqual(self.run_it(job).stdout, "['--lr', '0.1'] $(X)\n")

    def test_packages_are_installed_before(self):
        done = self.run_it(tj.train("j", func=train, func_args={"rate": 1}, image="i", packages=["no such package!"], dry_run=True), SHARD="7")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("no such package!", done.stderr)

    def test_several_processes_are_torchruns(self):
        self.assertIn("['torchrun', '--nproc-per-node=4']", " ".join(main_of(tj.train(
            "j", func=train, func_args={"rate": 1}, image="i", resources={"gpu": 4}, dry_run=True))["command"]))


class Refused(unittest.TestCase):
    def refuses(self, said, **arguments):
        with self.subTest(said), self.assertRaises(ValueError) as caught:
            tj.train("j", image="i", dry_run=True, **arguments)
        self.assertIn(said, str(caught.exception))

    def test_functions_that_do_not_stand_alone(self):
        inner = 5

        def closure():
            return inner
        for func, said in ((lambda: 1, "a lambda has no source"), (closure, "closure uses inner of the function around it"),
                           (Holder().method, "outside of a class"), (Holder, "outside of a class"), (print, "write a function with def"),
                           (uses_outside, "uses OUTSIDE, json from outside of it"), (default_outside, "uses OUTSIDE from outside"),
                           (later, "without async"), (many, "without async and yield"), (decorated, "has a decorator")):
            self.refuses(said, func=func)
        namespace: dict = {}
        exec("def made():\n    pass", namespace)
        self.refuses("the source of made cannot be read", func=namespace["made"])

    def test_arguments_that_cannot_be_sent(self):
        self.refuses("func_args do not fit train: missing a required argument: 'rate'", func=train)
        self.refuses("func_args may be texts, numbers", func=train, func_args={"rate": {1, 2}})
        self.refuses("func_args may be texts, numbers", func=train, func_args={"rate": (1, 2)})
        self.refuses("func_args goes with func=", command=["a"], func_args={})
        self.refuses("args goes with script= or command=", func=train, args=["a"])
        self.refuses("func and command: write one of them", func=train, command=["a"])
        self.refuses("write a list, command=['a', 'b']", command="a b")
        self.refuses("packages are installed for func= and script= only", command=["a"], packages=["p"])

    def test_a_source_that_no_argument_can_hold(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("#" * 100_001)
            file.flush()
            self.refuses("100000 are the most: put it into the image", script=file.name)


if __name__ == "__main__":
    unittest.main()
