import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import urllib.error
import urllib.request

import trainingjob as tj
from trainingjob import hooks, reporting

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(reporting.__file__)))


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


class Rank:
    """A process that runs the code as a rank of a job would, and its page."""

    def __init__(self, code, port=None, **env):
        self.port = port or free_port()
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])]), "TRAININGJOB_PROGRESS_PORT": str(self.port), "TRAININGJOB_ATTEMPT": "2",
               "TRAININGJOB_LIFE": "2000001", **env}
        self.process = subprocess.Popen([sys.executable, "-u", "-c", textwrap.dedent(code)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        self.line = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.err = self.process.communicate()[1]

    def get(self, path, host="127.0.0.1", timeout=5):
        with urllib.request.urlopen(f"http://{host}:{self.port}{path}", timeout=timeout) as answer:
            return json.loads(answer.read())


class LastWords(unittest.TestCase):
    def left(self, code="", error="batch 17 is empty", **env):
        """Returns what a program leaves that fails after its first report: in the file, and on its standard error."""
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "words")
            env = {name: value.format(path) for name, value in env.items()}
            with Rank(f"""
                import trainingjob
                from trainingjob import reporting
                reporting.TERMINATION_LOG = {path!r}
                {code or "pass"}
                trainingjob.report()
                print("ready")
                raise ValueError({error!r})
                """, **env) as rank:
                rank.process.wait(10)
            if not os.path.exists(path):
                return None, rank.err
            with open(path) as file:
                return file.read(), rank.err

    def test_an_agent_of_torchrun_finds_them(self):
        words, printed = self.left(TORCHELASTIC_ERROR_FILE="{}")
        message = json.loads(words)["message"]
        self.assertEqual(message["message"], "ValueError: batch 17 is empty")
        self.assertLess(abs(int(message["extraInfo"]["timestamp"]) - time.time()), 60)
        for stack in message["extraInfo"]["py_callstack"], printed:
            self.assertRegex(stack, r"(?s)^Traceback .*\nValueError: batch 17 is empty\n$")

    def test_a_kubelet_finds_them(self):
        words, printed = self.left("open(reporting.TERMINATION_LOG, 'w').close()")
        self.assertEqual(words, printed)

    def test_a_kubelet_finds_the_line_of_a_long_error(self):
        words, _ = self.left("open(reporting.TERMINATION_LOG, 'w').close()", error="out of memory" + "\nBuffer 1: 16.00GiB" * 1000)
        self.assertIn("\nValueError: out of memory\n", words.encode()[-4096:].decode(errors="replace"))  # what a kubelet takes

    def test_what_no_file_can_hold_is_escaped(self):
        words, _ = self.left("open(reporting.TERMINATION_LOG, 'w').close()", error="shard \udc80")
        self.assertIn("ValueError: shard \\udc80", words)

    def test_no_file_is_made_elsewhere(self):
        self.assertIsNone(self.left()[0])

    def test_what_the_program_has_left_stays(self):
        self.assertEqual(self.left("open(reporting.TERMINATION_LOG, 'w').write('its own')", TORCHELASTIC_ERROR_FILE="{}")[0], "its own")


class Report(unittest.TestCase):
    def test_the_page_shows_the_latest_report(self):
        with Rank("""
            import time, trainingjob
            trainingjob.report()
            trainingjob.report(1200, "s3://ckpt/1200", loss=0.25, lr=1e-5)
            trainingjob.report(step=1201, saved_for="2-7")
            print("ready"); time.sleep(60)
            """) as rank:
            page = rank.get("/progress")
            self.assertRegex(page.pop("time"), r"^20\d\d-\d\d-\d\dT[\d:.]+\+00:00$")
            self.assertEqual(page, {"step": 1201, "checkpoint": "s3://ckpt/1200", "savedFor": "2-7", "metrics": {"loss": 0.25, "lr": 1e-5},
                                    "attempt": 2, "life": 2000001})
            if socket.has_dualstack_ipv6():
                self.assertEqual(rank.get("/progress", host="[::1]")["step"], 1201)
            for path in ("/", "/progress/", "/progress?x=1", "/../etc/passwd"):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    rank.get(path)
                self.assertEqual(refused.exception.code, 404)
                refused.exception.close()
        self.assertEqual(rank.err, "")

    def test_a_number_that_is_not_finite_is_left_out(self):
        with Rank("""
            import time, trainingjob
            trainingjob.report(1, loss=float("nan"), lr=float("inf"), good=1)
            print("ready"); time.sleep(60)
            """) as rank:
            self.assertEqual(rank.get("/progress")["metrics"], {"good": 1.0})

    def test_only_one_process_of_a_pod_serves(self):
        with Rank("import time, trainingjob; trainingjob.report(7); print('ready'); time.sleep(60)", LOCAL_RANK="1") as rank:
            with self.assertRaises(urllib.error.URLError):
                rank.get("/progress")

    def test_a_training_that_no_job_runs_serves_nothing(self):
        with Rank("import time, trainingjob; trainingjob.report(7); print('ready'); time.sleep(60)", TRAININGJOB_PROGRESS_PORT="") as rank:
            with self.assertRaises(urllib.error.URLError):
                rank.get("/progress")

    def test_a_port_that_is_taken_does_not_break_the_training(self):
        with socket.socket() as taken:
            taken.bind(("", 0))
            taken.listen()
            with Rank("import trainingjob; trainingjob.report(7); trainingjob.report(8); print('trained')", port=taken.getsockname()[1]) as rank:
                self.assertEqual(rank.line, "trained")
                rank.process.wait()
        self.assertEqual(rank.err.count("write another progress.port"), 1, rank.err)

    def test_a_process_that_is_stopped_takes_connections(self):
        with Rank("import time, trainingjob; trainingjob.report(7); print('ready'); time.sleep(60)") as rank:
            rank.process.send_signal(signal.SIGSTOP)
            clients = []
            for _ in range(100):
                clients.append(socket.create_connection(("127.0.0.1", rank.port), timeout=0.5))
            for client in clients:
                client.close()

    def test_a_forked_process_does_not_hold_the_port(self):
        with Rank("""
            import os, time, trainingjob
            trainingjob.report(7)
            if os.fork() == 0:
                trainingjob.report(8)
                time.sleep(5)
                os._exit(0)
            time.sleep(0.2)
            print("ready"); time.sleep(60)
            """) as rank:
            self.assertEqual(rank.get("/progress")["step"], 7)
        with socket.socket() as s:
            self.assertNotEqual(s.connect_ex(("127.0.0.1", rank.port)), 0, "a loader of data holds the port of a training that was killed")

    def test_the_file_works_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(reporting.__file__, encoding="utf-8") as source, open(os.path.join(folder, "reporting.py"), "w", encoding="utf-8") as copy:
                copy.write(source.read())
            with Rank("import time, reporting; reporting.report(7); print('ready'); time.sleep(60)", PYTHONPATH=folder) as rank:
                self.assertEqual(rank.get("/progress")["step"], 7)

    def test_wrong_arguments(self):
        for arguments, want in [(dict(step=1.5), "whole number"), (dict(step="7"), "whole number"), (dict(step=-1), "grows from 0"),
                                (dict(loss="low"), "loss.item()"), (dict(loss=[1]), "loss.item()"), ({"x" * 64: 1}, "1 to 63"), ({"a\nb": 1}, "1 to 63"),
                                ({f"m{i}": i for i in range(9)}, "at most 8")]:
            with self.assertRaisesRegex(ValueError, want.replace("(", r"\(").replace(")", r"\)"), msg=str(arguments)):
                tj.report(**arguments)


class Stacks(unittest.TestCase):
    def test_all_threads_show_where_they_are(self):
        with Rank("""
            import threading, time, trainingjob
            def waits_for_the_others():
                time.sleep(60)
            def reads_data():
                waits_for_the_others()
            trainingjob.report(7)
            threading.Thread(target=reads_data, name="loader", daemon=True).start()
            print("ready"); waits_for_the_others()
            """, RANK="3") as rank:
            time.sleep(0.5)
            page = rank.get("/stacks")
        functions = {thread["name"]: [frame["function"] for frame in thread["frames"]] for thread in page["threads"]}
        self.assertEqual(functions["MainThread"], ["<module>", "waits_for_the_others"])
        self.assertEqual(functions["loader"][-2:], ["reads_data", "waits_for_the_others"])
        self.assertEqual([thread["name"] for thread in page["threads"]], ["MainThread", "loader"], "the main thread is first, and the page's own are left out")
        self.assertEqual(page["rank"], "3")
        self.assertIn("the stacks of all threads of rank 3, attempt 2, were requested", rank.err)
        self.assertIn("in waits_for_the_others", rank.err, "the log of the rank has the stacks too")

    @unittest.skipUnless(sys.platform == "linux", "only Linux has abstract sockets")
    def test_the_first_rank_of_a_pod_shows_the_others(self):
        code = """
            import os, time, trainingjob
            def waits(): time.sleep(60)
            trainingjob.report(7)
            print("ready"); waits()
            """
        port = free_port()
        env = {"LOCAL_WORLD_SIZE": "4"}
        with Rank(code, port, RANK="8", LOCAL_RANK="0", **env) as first, Rank(code, port, RANK="9", LOCAL_RANK="1", **env) as second, \
                Rank(code, port, RANK="10", LOCAL_RANK="2", **env) as third:
            third.process.send_signal(signal.SIGSTOP)
            page = first.get("/stacks")
        self.assertEqual(page["rank"], "8")
        self.assertEqual([(other["rank"], other.get("silent", False)) for other in page["others"]], [("9", False), ("10", True)], "the last has not reported yet")
        self.assertEqual(page["others"][0]["threads"][0]["frames"][-1]["function"], "waits")
        self.assertIn("of rank 9, attempt 2", second.err)

    def test_a_thousand_deep_threads_fit_the_page(self):
        with Rank("""
            import sys, threading, time, trainingjob
            sys.setrecursionlimit(5000)
            def deep(n):
                return deep(n - 1) if n else time.sleep(60)
            trainingjob.report(7)
            for _ in range(200):
                threading.Thread(target=deep, args=(100,), daemon=True).start()
            print("ready"); deep(900)
            """) as rank:
            time.sleep(1)
            page = rank.get("/stacks")
            self.assertLessEqual(len(json.dumps(page)), 64 << 10)
            self.assertEqual(page["threads"][0]["name"], "MainThread")
            self.assertEqual(page["threads"][0]["frames"][-1]["function"], "deep", "the innermost frames are kept")


class Hooks(unittest.TestCase):
    def test_numbers_are_what_a_report_takes(self):
        logs = {"step": 3, "checkpoint": 4, "saved_for": 5, "loss": "0.5", "text": "low", "list": [1, 2], "x" * 64: 1, **{f"m{i}": i for i in range(20)}}
        self.assertEqual(hooks.numbers(logs), {"loss": 0.5, **{f"m{i}": float(i) for i in range(7)}})
        self.assertEqual(hooks.numbers(None), {})
        tj.report(1, **hooks.numbers(logs))
