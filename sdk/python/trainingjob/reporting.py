"""Reports the progress of a training to the operator. The training needs no rights: report() serves a page, and the operator reads it.

This file needs nothing but Python 3.9. To use it without the package, copy it beside your program.
"""

from __future__ import annotations

import http.server
import json
import math
import operator
import os
import socket
import socketserver
import sys
import threading
import time
import traceback
from datetime import datetime, timezone
from types import TracebackType
from typing import Any

MAX_METRICS = 8
MAX_NAME = 63
MAX_STACKS = 60_000  # bytes of a page of stacks, which the operator reads up to 64 KiB

TERMINATION_LOG = "/dev/termination-log"  # from where the kubelet takes the last 4,096 bytes as the last words of a container
MAX_LAST_WORDS = 4_096

OTHERS_WITHIN = 0.7  # seconds that the other ranks of a pod have to show their stacks

_lock = threading.RLock()  # a signal handler may report too
_page: dict[str, Any] = {}
_server: _Server | _RankServer | None = None
_tried = False
_keeps = False  # whether an exception is kept as the last words


def report(step: int | None = None, checkpoint: str | None = None, *, saved_for: str | None = None, **metrics: float) -> None:
    """Reports that the training makes progress. Each call shows the operator that the training does not hang.

    Call it on every rank: before the ranks meet, and then after each step or every few seconds. It is cheap, sends nothing and never
    fails because of the network. Outside a job with spec.progress.port it serves no page.

    In a job it also makes an exception that ends the program its last words, whatever else is printed: torchrun and the operator show them, and
    can tell the rank that failed from those that missed it.

    step: a whole number that grows. checkpoint: the name of the newest one. An argument that is not given keeps its last value.
    saved_for: the id that should_stop() returned, once the checkpoint is saved.
    metrics: up to 8 numbers, such as loss=0.3; kubectl tj status shows them. A number that is not finite is left out.

    Raises ValueError, which says what to write instead.
    """
    said: dict[str, Any] = {"time": datetime.now(timezone.utc).isoformat()}
    if step is not None:
        said["step"] = _whole(step)
    if checkpoint is not None:
        said["checkpoint"] = str(checkpoint)
    if saved_for is not None:
        said["savedFor"] = str(saved_for)
    if metrics:
        said["metrics"] = _numbers(metrics)
    with _lock:
        _page.update(said)
        _keep_last_words()
        _serve()


def _whole(step: Any) -> int:
    try:
        number = operator.index(step)
    except TypeError:
        raise ValueError(f"step is {step!r}: write a whole number, such as int(step)") from None
    if number < 0:
        raise ValueError(f"step is {number}: write a number that grows from 0")
    return number


def _numbers(metrics: dict[str, Any]) -> dict[str, float]:
    if len(metrics) > MAX_METRICS:
        raise ValueError(f"{len(metrics)} metrics: write at most {MAX_METRICS}")
    for name in metrics:
        if not name or len(name.encode()) > MAX_NAME or not name.isprintable():
            raise ValueError(f"the metric {name!r}: write a name of 1 to {MAX_NAME} printable bytes")
    try:
        numbers = {name: float(value) for name, value in metrics.items()}
    except (TypeError, ValueError) as error:
        raise ValueError(f"a metric is no number ({error}): write numbers, such as loss.item()") from None
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _keep_last_words() -> None:
    """Lets an exception that ends the program be its last words. The caller holds the lock."""
    global _keeps
    if _keeps or "TRAININGJOB_ATTEMPT" not in os.environ:
        return
    _keeps, print_it = True, sys.excepthook

    def leave(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            if issubclass(kind, Exception):
                _write_last_words(error, "".join(traceback.format_exception(kind, error, trace)))
        except OSError:
            pass  # the words are in the log, too
        print_it(kind, error, trace)

    sys.excepthook = leave


def _write_last_words(error: BaseException, stack: str) -> None:
    """Writes them where they are read, in the form of torch's @record for an agent of torchrun, unless the program has left words itself."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        extra = {"py_callstack": stack, "timestamp": str(int(time.time()))}
        text = json.dumps({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}})
    elif os.path.exists(TERMINATION_LOG):
        path, text = TERMINATION_LOG, stack
        if len(stack.encode(errors="replace")) > MAX_LAST_WORDS:  # the kubelet takes the end, and the error itself may be long
            text = stack[-MAX_LAST_WORDS // 4:] + "\n" + f"{type(error).__name__}: {error}"[:500]
    else:
        return
    with open(path, "a+", encoding="utf-8", errors="backslashreplace") as file:
        if file.tell() == 0:
            file.write(text)


def _serve() -> None:
    """Serves the page from the first report on: one process of each pod does, and the others show it their stacks. The caller holds the lock."""
    global _server, _tried
    port, local_rank = os.environ.get("TRAININGJOB_PROGRESS_PORT"), os.environ.get("LOCAL_RANK", "0")
    if _tried or not port:
        return
    _tried = True
    try:
        _server = _Server(int(port)) if local_rank == "0" else _RankServer(local_rank)
    except (OSError, OverflowError, ValueError) as error:
        if local_rank != "0":  # no abstract sockets: this process shows no stacks
            return
        print(f"trainingjob: progress is not reported, because port {port} cannot be served ({error}): write another progress.port", file=sys.stderr, flush=True)
        return
    threading.Thread(target=_server.serve_forever, name="trainingjob-progress", daemon=True).start()
    os.register_at_fork(after_in_child=_leave)


def _leave() -> None:
    """A process that was forked, such as a loader of data, must not hold the port when the training has ended."""
    global _server, _lock
    _lock = threading.RLock()  # a thread that is not there any more may have held it
    if _server is not None:
        _server.socket.close()
        _server = None


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # while the process is stopped each read of the operator waits here; a full queue looks like a broken network

    def __init__(self, port: int) -> None:
        if socket.has_dualstack_ipv6():
            self.address_family = socket.AF_INET6
        super().__init__(("", port), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)  # HTTPServer would look up its name, which can take long
        self.server_name, self.server_port = "", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


def _name(local_rank: object) -> str:
    """Returns the abstract socket by which a rank shows its stacks to the first rank of its pod: only Linux has them, and only the pod sees it."""
    return f"\0trainingjob-{os.environ.get('TRAININGJOB_PROGRESS_PORT')}-{local_rank}"


class _RankServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)
    daemon_threads = True

    def __init__(self, local_rank: str) -> None:
        super().__init__(_name(local_rank), _RankHandler)  # type: ignore[arg-type]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _RankHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(json.dumps(_logged_stacks()).encode())


def _others() -> list[dict[str, Any]]:
    """Returns the stacks of the other ranks of the pod. A rank that has not reported yet is left out, and one that does not answer is silent."""
    until, asked = time.monotonic() + OTHERS_WITHIN, []
    for local_rank in range(1, _ranks_of_pod()):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(OTHERS_WITHIN)
        try:
            client.connect(_name(local_rank))
        except OSError:
            client.close()
            continue
        asked.append((local_rank, client))
    pages = []
    for local_rank, client in asked:
        with client:
            try:
                body = b""
                while part := _receive(client, until):
                    body += part
                pages.append(json.loads(body))
            except (OSError, ValueError):
                first = int(os.environ.get("RANK") or 0)
                pages.append({"rank": str(first + local_rank), "silent": True})
    return pages


def _receive(client: socket.socket, until: float) -> bytes:
    client.settimeout(max(0.01, until - time.monotonic()))
    return client.recv(1 << 16)


def _ranks_of_pod() -> int:
    text = os.environ.get("LOCAL_WORLD_SIZE", "")
    return min(int(text), 16) if text.isdigit() and hasattr(socket, "AF_UNIX") else 1


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = 10  # seconds that a client may be silent

    def do_GET(self) -> None:
        if self.path == "/progress":
            self._answer(progress_page())
        elif self.path == "/stacks":
            page, others = _logged_stacks(), _others()
            self._answer({**page, "others": others} if others else page)
        else:
            self.send_error(404)

    def _answer(self, page: dict[str, Any]) -> None:
        body = json.dumps(page).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The operator reads every few seconds: that does not belong in the log of the training."""


def progress_page() -> dict[str, Any]:
    """Returns the page of the latest report, with the attempt and the life of this process."""
    page = {}
    for key, variable in (("attempt", "TRAININGJOB_ATTEMPT"), ("life", "TRAININGJOB_LIFE")):
        if os.environ.get(variable, "").isdigit():
            page[key] = int(os.environ[variable])
    return {**_page, **page}


def stacks_page() -> dict[str, Any]:
    """Returns the stacks of all threads, the main thread first and the innermost frame of each last."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main, own = threading.main_thread().ident, threading.get_ident()
    threads: list[dict[str, Any]] = []
    size = 0
    for ident, frame in sorted(sys._current_frames().items(), key=lambda item: item[0] != main):
        if ident == own or names.get(ident) == "trainingjob-progress":
            continue
        frames = [{"function": f.name[:200], "file": f.filename[-200:], "line": f.lineno}
                  for f in traceback.StackSummary.extract(traceback.walk_stack(frame), limit=_frames(), lookup_lines=False)]
        thread = {"name": names.get(ident, str(ident))[:100], "frames": frames[::-1]}
        size += len(json.dumps(thread))
        if threads and size > MAX_STACKS // _ranks_of_pod():
            break
        threads.append(thread)
    return {"rank": os.environ.get("RANK") or os.environ.get("TRAININGJOB_RANK") or "", "threads": threads}


def _frames() -> int:
    """Returns the most frames of a thread on the page. So the main thread always fits."""
    return max(10, 40 // _ranks_of_pod())


def _logged_stacks() -> dict[str, Any]:
    """Returns the page of stacks, and writes it to the log of this process."""
    page = stacks_page()
    attempt = os.environ.get("TRAININGJOB_ATTEMPT", "")
    print(f"trainingjob: the stacks of all threads of rank {page['rank']}, attempt {attempt}, were requested:\n" + _text(page), file=sys.stderr, flush=True)
    return page


def _text(page: dict[str, Any]) -> str:
    return "\n".join(line for thread in page["threads"] for line in
                     [f"  thread {thread['name']}:", *(f"    {f['file']}:{f['line']} in {f['function']}" for f in thread["frames"])])
