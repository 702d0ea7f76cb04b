"""The questions that a Client asks the API server, by means of the official `kubernetes` package.

The only module that imports it. Any object with these methods can stand in for Kube; the tests' does.
"""

from __future__ import annotations

import contextlib
import json
from typing import Iterator, List

import urllib3
from kubernetes import client, config, watch

from .errors import NO_ANSWER, ApiError, JobNotFound

RESOURCE = ("trainingjob.dev", "v1alpha1")
PLURAL = "trainingjobs"
CONNECT_SECONDS = 10
NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
SILENCE_SECONDS = 5  # after the end of a watch that the server was asked for: then the connection is dead


class Kube:
    """TrainingJobs at an API server.

    api_client (kubernetes.client.ApiClient): the connection. Default: as kubectl would (KUBECONFIG, ~/.kube/config),
    else as a pod of the cluster.

    namespace: the one that kubectl would ask, or else that of the pod; None for a connection of your own.
    """

    def __init__(self, api_client=None):
        self.namespace: str | None = None
        if api_client is None:
            api_client, self.namespace = _connect()
        self._api = api_client
        self._jobs = client.CustomObjectsApi(self._api)
        self._core = client.CoreV1Api(self._api)

    def create(self, namespace: str, manifest: dict) -> dict:
        with _answer():
            return self._jobs.create_namespaced_custom_object(*RESOURCE, namespace, PLURAL, manifest)

    def get(self, namespace: str, name: str) -> dict:
        with _answer(name, namespace):
            return self._jobs.get_namespaced_custom_object(*RESOURCE, namespace, PLURAL, name)

    def list(self, namespace: str) -> List[dict]:
        with _answer():
            return self._jobs.list_namespaced_custom_object(*RESOURCE, namespace, PLURAL)["items"]

    def patch(self, namespace: str, name: str, patch: dict) -> None:
        with _answer(name, namespace):
            self._jobs.patch_namespaced_custom_object(*RESOURCE, namespace, PLURAL, name, patch)

    def scale(self, namespace: str, name: str, workers: int) -> None:
        with _answer(name, namespace):
            self._jobs.patch_namespaced_custom_object_scale(
                *RESOURCE, namespace, PLURAL, name, {"spec": {"replicas": workers}})

    def delete(self, namespace: str, name: str, propagation: str) -> None:
        with _answer(name, namespace):
            self._jobs.delete_namespaced_custom_object(
                *RESOURCE, namespace, PLURAL, name, propagation_policy=propagation)

    def watch(self, namespace: str, name: str, version: str, seconds: int) -> Iterator[tuple[str, dict]]:
        """Yields (ADDED, MODIFIED or DELETED; job) for what changes after a resourceVersion, for so many seconds."""
        with _answer(name, namespace):
            events = watch.Watch().stream(
                self._jobs.list_namespaced_custom_object, *RESOURCE, namespace, PLURAL,
                field_selector=f"metadata.name={name}", resource_version=version, timeout_seconds=seconds,
                _request_timeout=(CONNECT_SECONDS, seconds + SILENCE_SECONDS))
            for event in events:
                yield event["type"], event["raw_object"]

    def events(self, namespace: str, name: str) -> List[dict]:
        """Returns the Events about the job, as the API has them."""
        about = f"involvedObject.kind=TrainingJob,involvedObject.name={name}"
        with _answer():
            found = self._core.list_namespaced_event(namespace, field_selector=about)
            return self._api.sanitize_for_serialization(found)["items"]


def _connect():
    """Returns the connection, and the namespace that goes with it."""
    configuration = client.Configuration()
    try:
        config.load_kube_config(client_configuration=configuration)
        namespace = config.list_kube_config_contexts()[1]["context"].get("namespace")
    except config.ConfigException as no_file:
        try:
            config.load_incluster_config(client_configuration=configuration)
        except config.ConfigException:
            raise ApiError(NO_ANSWER, f"no cluster to talk to: set KUBECONFIG, or run in a pod ({no_file})") from None
        namespace = _namespace_of_pod()
    return client.ApiClient(configuration), namespace


def _namespace_of_pod() -> str | None:
    try:
        with open(NAMESPACE_FILE, encoding="utf-8") as file:
            return file.read().strip() or None
    except OSError:
        return None


@contextlib.contextmanager
def _answer(name: str = "", namespace: str = ""):
    """Makes ApiErrors of what the kubernetes package raises; a 404 about a named job is JobNotFound."""
    try:
        yield
    except client.ApiException as error:
        if error.status == 404 and name:
            raise JobNotFound(f"no TrainingJob {name} in namespace {namespace}") from None
        raise ApiError(error.status or NO_ANSWER, _sentence(error)) from None
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise ApiError(NO_ANSWER, f"no answer from the API server: {error}") from None


def _sentence(error) -> str:
    try:
        return json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        return str(error.reason)
