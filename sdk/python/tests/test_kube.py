"""What goes over the wire by way of the kubernetes package, whose versions differ: asked of a server on this machine."""

import http.server
import json
import threading
import unittest

import trainingjob as tj

try:
    from kubernetes import client
    from trainingjob.kube import Kube
except ImportError:
    client = None

JOBS = "/apis/trainingjob.dev/v1alpha1/namespaces/n/trainingjobs"
JOB = {"metadata": {"name": "j", "resourceVersion": "2"}}


@unittest.skipUnless(client, "the kubernetes package is not installed")
class Wire(unittest.TestCase):
    def setUp(self):
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
        self.server.asked, self.server.status, self.server.answer = [], 200, [{}]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        where = client.Configuration(host=f"http://127.0.0.1:{self.server.server_port}")
        self.kube = Kube(client.ApiClient(where))

    def answer(self, *lines, status=200):
        self.server.status, self.server.answer = status, lines

    def test_patches_are_merge_patches(self):
        self.kube.patch("n", "j", {"spec": {"suspend": True}})
        self.kube.scale("n", "j", 3)
        self.assertEqual(self.server.asked, [
            ("PATCH", f"{JOBS}/j", "application/merge-patch+json", {"spec": {"suspend": True}}),
            ("PATCH", f"{JOBS}/j/scale", "application/merge-patch+json", {"spec": {"replicas": 3}})])

    def test_kubeflow_jobs_have_paths_of_their_own(self):
        self.kube.patch("n", "j", {"spec": {}}, "tfjobs")
        self.kube.get("n", "j", "tfjobs")
        self.kube.delete("n", "j", "Background", "tfjobs")
        self.assertEqual({asked[1].split("?")[0] for asked in self.server.asked}, {"/apis/kubeflow.org/v1/namespaces/n/tfjobs/j"})
        self.kube.patch("n", "w", {"spec": {"active": False}}, "workloads")
        self.assertEqual(self.server.asked[-1][1].split("?")[0], "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w")
        self.answer({"message": 'tfjobs.kubeflow.org "j" not found'}, status=404)
        with self.assertRaisesRegex(tj.JobNotFound, "^no tfjob j in namespace n$"):
            self.kube.get("n", "j", "tfjobs")

    def test_a_watch_is_of_one_job_from_one_version(self):
        self.answer({"type": "MODIFIED", "object": JOB})
        self.assertEqual(list(self.kube.watch("n", "j", "1", 30)), [("MODIFIED", JOB)])
        _, path, _, _ = self.server.asked[0]
        for part in ("fieldSelector=metadata.name%3Dj", "resourceVersion=1", "timeoutSeconds=30", "watch="):
            self.assertIn(part, path)

    def test_gone_is_410_in_the_answer_and_in_the_stream(self):
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        for status, line in ((410, gone), (200, {"type": "ERROR", "object": gone})):
            self.answer(line, status=status)
            with self.subTest(status), self.assertRaises(tj.ApiError) as caught:
                list(self.kube.watch("n", "j", "1", 30))
            self.assertEqual(caught.exception.status, 410)
            self.assertIn("too old resource version", caught.exception.message)

    def test_a_refusal_says_what_the_server_said(self):
        self.answer({"message": "replicas: write 1"}, status=422)
        with self.assertRaisesRegex(tj.ApiError, "^replicas: write 1$"):
            self.kube.create("n", JOB)

    def test_a_job_that_is_not_there(self):
        self.answer({"message": "not found"}, status=404)
        with self.assertRaisesRegex(tj.JobNotFound, "no TrainingJob j in namespace n"):
            self.kube.get("n", "j")

    def test_no_answer_has_status_0(self):
        nobody = Kube(client.ApiClient(client.Configuration(host="http://127.0.0.1:1")))
        with self.assertRaises(tj.ApiError) as caught:
            nobody.get("n", "j")
        self.assertEqual(caught.exception.status, 0)


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers everything with what the server was told, one JSON object a line."""

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, self.path, self.headers.get("Content-Type"), body))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write("".join(json.dumps(line) + "\n" for line in self.server.answer).encode())

    do_PATCH = do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
