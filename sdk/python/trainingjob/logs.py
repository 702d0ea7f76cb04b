"""The logs of all replicas of a job as one: merged by time, through restarts and replacements."""

from __future__ import annotations

import collections
import queue
import threading
import time
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, NamedTuple, Set, Tuple

from . import pods
from .errors import ApiError, TrainingJobError
from .reading import Reader, Source, Stopped
from .scene import Scene

MOST_SOURCES = 256  # each is a connection to a kubelet
MOST_HELD = 10_000  # lines that wait to be asked for
SILENCE_SECONDS = 0.4  # how long a log that is followed and says nothing holds up the others
PAUSE_SECONDS = 0.5  # before a log that broke off is opened again
LAST_WORDS_SECONDS = 70  # how long pods are read after the job has finished


class Line(NamedTuple):
    """A line of a log. str(line) is the line with rank, replica and life before it."""

    time: str
    rank: int
    replica: str
    attempt: int
    replacement: int
    text: str

    def __str__(self) -> str:
        replaced = f"r{self.replacement}" if self.replacement else ""
        return f"[{self.rank} {self.replica} a{self.attempt}{replaced}] {self.text}"


class Choice(NamedTuple):
    """Which pods are read. attempt: a number, "all", or None for the lives that `since` names by rank, and later ones."""

    ranks: Set[int] | None
    role: str | None
    attempt: int | str | None

    def of(self, found: List[pods.Pod], since: Mapping[int, pods.Life]) -> List[pods.Pod]:
        return [pod for pod in found if self._is_replica(pod) and any(self.wants(life, since.get(pods.rank(pod))) for life in pods.lives(pod))]

    def _is_replica(self, pod: pods.Pod) -> bool:
        role = pods.replica(pod).rpartition("-")[0]
        return (self.ranks is None or pods.rank(pod) in self.ranks) and (self.role is None or role == self.role.lower())

    def wants(self, life: pods.Life, since: pods.Life | None) -> bool:
        if self.attempt is None:
            return since is None or life >= since
        return self.attempt == "all" or life.attempt == int(self.attempt)


class _Log:
    """A log that is read, and its lines that are not yet merged."""

    def __init__(self, pod: pods.Pod):
        self.pod = pod
        self.lines: Deque[Tuple[str, pods.Life, str]] = collections.deque()
        self.latest = ""
        self.heard = time.monotonic()
        self.open = True


Event = Tuple[_Log, str, pods.Life, str, bool]


class Logs:
    """One run over the logs of a job."""

    def __init__(self, api: Any, namespace: str, scene: Scene, choice: Choice, follow: bool, tail: int | None, since: str,
                 on_gap: Callable[[str], None]):
        self._api, self._namespace, self._scene, self._choice = api, namespace, scene, choice
        self._follow, self._tail, self._since, self._on_gap = follow, tail, since, on_gap
        self._events: queue.Queue[Event] = queue.Queue(MOST_HELD)
        self._logs: List[_Log] = []
        self._known: Set[str] = set()
        self._first = {pods.rank(pod): pods.lives(pod).runs for pod in scene.found()}
        self._over: float | None = None
        self._changes = -1

    def lines(self) -> Iterator[Line]:
        if self._follow:
            self._scene.watch()
        try:
            self._start(late=False)
            if not self._follow and not self._logs:
                raise TrainingJobError("no such pod is there, and a log goes with its pod")
            while not self._is_done():
                self._gather()
                yield from self._merged()
                if self._follow:
                    self._start(late=True)
        finally:
            self._scene.stop()
        if self._scene.failure:
            raise self._scene.failure

    def _is_done(self) -> bool:
        """Returns whether everything was given out and nothing more comes."""
        if self._scene.failure:
            return True
        if any(log.open or log.lines for log in self._logs):
            return self._is_late()
        return not self._follow or self._scene.is_over()

    def _is_late(self) -> bool:
        """Returns whether pods have been read for too long after the job's end."""
        if not self._follow or not self._scene.is_over():
            return False
        self._over = self._over or time.monotonic()
        return time.monotonic() - self._over > LAST_WORDS_SECONDS

    def _start(self, late: bool) -> None:
        """Starts a reader for each chosen pod that has none. Tail and since cut what was said before the first look only."""
        if self._changes == self._scene.changes:
            return
        self._changes = self._scene.changes
        chosen = self._choice.of(self._scene.found(), self._first)
        missing = [pod for pod in chosen if pods.uid(pod) not in self._known]
        if len(missing) + sum(log.open for log in self._logs) > MOST_SOURCES:
            raise ValueError(f"these are more than {MOST_SOURCES} logs at once: choose some ranks, such as rank='0-{MOST_SOURCES - 1}'")
        for pod in missing:
            self._known.add(pods.uid(pod))
            log = _Log(pod)
            self._logs.append(log)
            threading.Thread(target=self._read, args=(log, late), daemon=True).start()

    def _read(self, log: _Log, late: bool) -> None:
        source = Source(lambda query: self._open(log.pod, query), lambda: self._scene.look(log.pod), self._wait)
        since = self._first.get(pods.rank(log.pod))

        def take(at: str, text: str, life: pods.Life) -> None:
            if self._choice.wants(life, since):
                self._put((log, at, life, text, False))

        reader = Reader(source, take, "" if late else self._since, None if late else self._tail)
        gap = ""
        try:
            if self._follow:
                gap = reader.follow()
            else:
                reader.once()
        except ApiError as error:
            gap = error.message
        except Stopped:
            return
        if gap:
            self._on_gap(f"{pods.replica(log.pod)}, attempt {pods.life(log.pod).attempt}: {gap}")
        try:
            self._put((log, "", pods.life(log.pod), "", True))
        except Stopped:
            pass

    def _open(self, pod: pods.Pod, query: Dict[str, str]) -> Iterator[bytes]:
        query["container"] = pods.main_container(pod)
        return self._api.log(self._namespace, pod["metadata"]["name"], query)

    def _wait(self) -> None:
        if self._scene.stopped:
            raise Stopped
        self._scene.wait(PAUSE_SECONDS)

    def _put(self, event: Event) -> None:
        while not self._scene.stopped:
            try:
                return self._events.put(event, timeout=1)
            except queue.Full:
                pass
        raise Stopped

    def _gather(self) -> None:
        """Takes what the readers have brought."""
        try:
            for _ in range(MOST_HELD):
                log, at, life, text, ended = self._events.get(timeout=0.05)
                if ended:
                    log.open = False
                    continue
                log.latest = max(log.latest, at)  # a line of one log overtakes no other of it
                log.heard = time.monotonic()
                log.lines.append((log.latest, life, text))
                if self._events.empty():
                    return
        except queue.Empty:
            pass

    def _merged(self) -> Iterator[Line]:
        """Yields the lines of which it is known that none comes before them."""
        now = time.monotonic()
        while not any(log.open and not log.lines and (not self._follow or now - log.heard < SILENCE_SECONDS) for log in self._logs):
            ready = [log for log in self._logs if log.lines]
            if not ready:
                return
            log = min(ready, key=lambda each: each.lines[0][0])
            at, life, text = log.lines.popleft()
            yield Line(at, pods.rank(log.pod), pods.replica(log.pod), life.attempt, life.replacement, text)
