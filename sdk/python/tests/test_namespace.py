"""Which namespace a client has that is told none: kubectl's, or else that of the pod it runs in."""

import pathlib
import tempfile
import unittest
from unittest import mock

import trainingjob as tj
from tests.fake import FakeApi

try:
    from kubernetes import client, config
    from trainingjob import kube
except ImportError:
    client = None

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
contexts:
- {name: here, context: {cluster: c, user: u, namespace: team-a}}
- {name: nowhere, context: {cluster: c, user: u}}
current-context: CONTEXT
"""


class Told(unittest.TestCase):
    def test_what_is_said_counts(self):
        self.assertEqual(tj.Client("team-b", FakeApi([])).namespace, "team-b")

    def test_an_api_that_knows_none_leaves_default(self):
        self.assertEqual(tj.Client(api=FakeApi([])).namespace, "default")


@unittest.skipUnless(client, "the kubernetes package is not installed")
class Found(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def client(self, kubeconfig: str = "", pod: str = "") -> tj.Client:
        """Returns a client where there is this kubeconfig, and this namespace of the pod."""
        path, account = self.folder / "config", self.folder / "namespace"
        if kubeconfig:
            path.write_text(kubeconfig, encoding="utf-8")
        if pod:
            account.write_text(pod + "\n", encoding="utf-8")
        with mock.patch("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(path)), \
                mock.patch.object(kube, "NAMESPACE_FILE", str(account)), \
                mock.patch.object(config, "load_incluster_config", lambda client_configuration: None):
            return tj.Client()

    def test_the_namespace_of_kubectls_context(self):
        self.assertEqual(self.client(KUBECONFIG.replace("CONTEXT", "here"), pod="pipelines").namespace, "team-a")

    def test_a_context_without_one_means_default(self):
        self.assertEqual(self.client(KUBECONFIG.replace("CONTEXT", "nowhere"), pod="pipelines").namespace, "default")

    def test_without_a_kubeconfig_that_of_the_pod(self):
        self.assertEqual(self.client(pod="pipelines").namespace, "pipelines")

    def test_without_either_default(self):
        self.assertEqual(self.client().namespace, "default")

    def test_a_connection_of_the_users_own_means_default(self):
        own = kube.Kube(client.ApiClient(client.Configuration(host="http://127.0.0.1:1")))
        self.assertEqual(tj.Client(api=own).namespace, "default")


if __name__ == "__main__":
    unittest.main()
