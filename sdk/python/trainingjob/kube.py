"""The questions that a Client asks the API server, by means of the connection of the official `kubernetes` package.

The only module that imports it. It uses the package's configuration and connection pool, not its generated methods: these differ
between versions, and none can read a log from a given time on. Any object with these methods can stand in for Kube.
"""

from __future__ import annotations

import contextlib
import json
import ssl
from typing import Any, Dict, Iterator, List, Mapping, Tuple
from urllib.parse import quote, urlencode

import urllib3
from kubernetes import client, config

from .errors import NO_ANSWER, ApiError, JobNotFound

JOBS = "trainingjobs"
GROUP = "/apis/trainingjob.dev/v1alpha1"
KUBEFLOW = "/apis/kubeflow.org/v1"
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
GROUPS = {JOBS: GROUP, "workloads": KUEUE}  # of a resource; else KUBEFLOW
CONNECT_SECONDS = 10
ANSWER_SECONDS = 60
LOG_SECONDS = 300  # of silence; then the log is opened again where it was, in case the connection is dead
NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
SILENCE_SECONDS = 5  # after the end of a watch that the server was asked for: then the connection is dead
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
NO_CRD = "the server could not find the requested resource"  # what it says of a kind that it does not know
FIELD_MANAGER = "trainingjob-sdk"
Json = Dict[str, Any]


class Kube:
    """TrainingJobs at an API server, with their pods, logs and Events.

    api_client (kubernetes.client.ApiClient): the connection. Default: as kubectl would (KUBECONFIG, ~/.kube/config),
    else as a pod of the cluster.

    namespace: the one that kubectl would ask, or else that of the pod; None for a connection of your own.
    """

    def __init__(self, api_client: Any = None):
        self.namespace: str | None = None
        if api_client is None:
            api_client, self.namespace = _connect()
        self._api = api_client

    def create(self, namespace: str, manifest: Mapping[str, Any], dry_run: bool = False) -> Json:
        return self._json("POST", _path(namespace), _dry(dry_run), body=manifest)

    def apply(self, namespace: str, manifest: Mapping[str, Any], force: bool = False, dry_run: bool = False) -> Json:
        query = {"fieldManager": FIELD_MANAGER, "force": str(force).lower(), **_dry(dry_run)}
        return self._json("PATCH", _path(namespace, manifest["metadata"]["name"]), query, body=manifest, content=APPLY)

    def get(self, namespace: str, name: str, resource: str = JOBS) -> Json:
        """Returns the job; of another resource, such as pytorchjobs or workloads, what has that name, as in patch and delete."""
        with _about(namespace, name, resource):
            return self._json("GET", _path(namespace, name, resource))

    def list(self, namespace: str | None, labels: str | None = None, fields: str | None = None, resource: str = JOBS) -> List[Json]:
        """Returns the jobs of the namespace, or of all for None."""
        return self._json("GET", _path(namespace, resource=resource), _selectors(labels, fields))["items"]

    def patch(self, namespace: str, name: str, patch: Json, resource: str = JOBS) -> None:
        with _about(namespace, name, resource):
            self._json("PATCH", _path(namespace, name, resource), body=patch, content=MERGE)

    def scale(self, namespace: str, name: str, workers: int) -> None:
        with _about(namespace, name):
            self._json("PATCH", _path(namespace, name) + "/scale", body={"spec": {"replicas": workers}}, content=MERGE)

    def delete(self, namespace: str, name: str, propagation: str, resource: str = JOBS) -> None:
        with _about(namespace, name, resource):
            self._json("DELETE", _path(namespace, name, resource), body={"propagationPolicy": propagation})

    def watch(self, namespace: str, name: str, version: str, seconds: int) -> Iterator[Tuple[str, Json]]:
        """Yields (ADDED, MODIFIED or DELETED; job) for what changes after a resourceVersion, for so many seconds."""
        with _about(namespace, name):
            yield from self._watch(_path(namespace), {"fieldSelector": f"metadata.name={name}"}, version, seconds)

    def events(self, namespace: str, name: str) -> List[Json]:
        """Returns the Events about the job, as the API has them."""
        about = f"involvedObject.kind=TrainingJob,involvedObject.name={name}"
        return self._json("GET", f"/api/v1/namespaces/{namespace}/events", _selectors(None, about))["items"]

    def pods(self, namespace: str, labels: str) -> Json:
        """Returns the list of pods with these labels: items, and metadata.resourceVersion to watch from."""
        return self._json("GET", _pods(namespace), _selectors(labels, None))

    def watch_pods(self, namespace: str, labels: str, version: str, seconds: int) -> Iterator[Tuple[str, Json]]:
        return self._watch(_pods(namespace), _selectors(labels, None), version, seconds)

    def log(self, namespace: str, pod: str, query: Mapping[str, str]) -> Iterator[bytes]:
        """Yields pieces of the log of a pod as they come; raises ApiError, with status 0 where the connection broke."""
        seconds = urllib3.Timeout(connect=CONNECT_SECONDS, read=LOG_SECONDS)
        yield from self._stream(_pods(namespace, pod) + "/log", query, seconds)

    def _watch(self, path: str, query: Mapping[str, str], version: str, seconds: int) -> Iterator[Tuple[str, Json]]:
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=seconds + SILENCE_SECONDS)
        query = {**query, "watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        rest = b""
        for piece in self._stream(path, query, timeout):
            *lines, rest = (rest + piece).split(b"\n")
            for line in filter(None, lines):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", NO_ANSWER), event["object"].get("message", "the watch broke"))
                yield event["type"], event["object"]

    def _stream(self, path: str, query: Mapping[str, str], timeout: urllib3.Timeout) -> Iterator[bytes]:
        with _answer():
            response = self._request("GET", path, query, timeout)
            try:
                if response.status >= 400:
                    raise _refusal(response.status, response.data)
                yield from response.stream(64 << 10)
            finally:
                response.close()  # not given back: the server may still be sending

    def _json(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None,
              content: str = "application/json") -> Any:
        with _answer():
            timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS)
            response = self._request(method, path, query or {}, timeout, body, content)
            data = response.data
            response.release_conn()
        if response.status >= 400:
            raise _refusal(response.status, data)
        return json.loads(data)

    def _request(self, method: str, path: str, query: Mapping[str, str], timeout: urllib3.Timeout, body: Any = None,
                 content: str = "application/json") -> Any:
        configuration = self._api.configuration
        headers = {**self._api.default_headers, "Accept": "application/json"}
        for setting in configuration.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        if body is not None:
            headers["Content-Type"] = content
        url = configuration.host + path + ("?" + urlencode(query) if query else "")
        return self._api.rest_client.pool_manager.request(
            method, url, headers=headers, body=None if body is None else json.dumps(body), timeout=timeout,
            retries=False, preload_content=False)


def _path(namespace: str | None, name: str = "", resource: str = JOBS) -> str:
    group = GROUPS.get(resource, KUBEFLOW)
    where = f"{group}/namespaces/{quote(namespace)}/{resource}" if namespace else f"{group}/{resource}"
    return f"{where}/{quote(name)}" if name else where


def _pods(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")


def _dry(dry_run: bool) -> Dict[str, str]:
    return {"dryRun": "All", "fieldValidation": "Strict"} if dry_run else {"fieldValidation": "Strict"}


def _selectors(labels: str | None, fields: str | None) -> Dict[str, str]:
    given = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in given.items() if value}


def _connect() -> Tuple[Any, str | None]:
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
def _about(namespace: str, name: str, resource: str = JOBS) -> Iterator[None]:
    """Makes a 404 about a named job JobNotFound."""
    try:
        yield
    except ApiError as error:
        if error.status == 404 and NO_CRD not in error.message:
            kind = "TrainingJob" if resource == JOBS else resource[:-1]
            raise JobNotFound(f"no {kind} {name} in namespace {namespace}") from None
        raise


@contextlib.contextmanager
def _answer() -> Iterator[None]:
    """Makes ApiErrors of connections that break."""
    try:
        yield
    except (urllib3.exceptions.HTTPError, ssl.SSLError, OSError) as error:
        raise ApiError(NO_ANSWER, f"no answer from the API server: {error}") from None


def _refusal(status: int, data: bytes) -> ApiError:
    try:
        message = json.loads(data)["message"]
        if NO_CRD in message:
            message += ": the cluster does not know TrainingJobs; install the operator's CRD"
        return ApiError(status, message)
    except (TypeError, ValueError, KeyError):
        return ApiError(status, data.decode(errors="replace").strip() or f"HTTP status {status}")
