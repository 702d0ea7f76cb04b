"""Reading the log of one container to its end: no line lost, none twice, whatever breaks. A container that is restarted in place goes
on as another life: what it said before is read to its end first, from the log that the kubelet keeps of it.

Where a log broke off is known by a Cursor: the time of the last line, and how many lines of that time were read. The kubelet
gives every line a time of nanoseconds, so that the same line is found again; what it is asked for begins with the whole second
before. A log has been read to its end when the status said, before it was opened, that the container had ended, and two readings
then ended at the same place: one alone proves nothing, as a connection that breaks between kubelet and API server looks like an end.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, NamedTuple, Tuple

from .errors import ApiError
from .pods import Container, Life

# A line of a log: the kubelet's time of it, then what was said.
LINE = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d) ?(.*)", re.DOTALL)
MOST_BLANK = 5  # readings without any line of a log that had some: the kubelet has put it aside


class Stopped(Exception):
    """Nobody reads on."""


class Cursor:
    """Knows which lines of a log were read, so that a second reading goes on where the first broke off."""

    def __init__(self) -> None:
        self.last = ""
        self.count = 0
        self._again = False
        self._seen = 0

    def begin(self) -> str:
        """Begins a reading and returns from when on lines are needed, in whole seconds; an empty text for all."""
        self._again, self._seen = self.count > 0, 0
        return self.last[:19] + "Z" if self.last else ""

    def is_new(self, time: str) -> bool:
        """Returns whether the line of that time was not read before, and counts it as read."""
        if self._again:
            if time < self.last:
                return False
            if time == self.last:
                self._seen += 1
                if self._seen <= self.count:
                    return False
            self._again = False
        if time != self.last:
            self.last, self.count = time, 0
        self.count += 1
        return True

    def reached(self) -> bool:
        """Returns whether this reading has come as far as the one before."""
        return not self._again or self._seen >= self.count

    def turn(self) -> None:
        """Says that what is read from now on is another log, which begins where the one before ended."""
        self.count, self._again = 0, False


class Source(NamedTuple):
    """Where a log is, and how its container is: look() tells how it is now, wait() returns when that may have changed."""

    open: Callable[[Dict[str, str]], Iterator[bytes]]
    look: Callable[[], Container]
    wait: Callable[[], None]


class Reader:
    """Reads the log of one container: take(time, text, life) gets each line once."""

    def __init__(self, source: Source, take: Callable[[str, str, Life], None], since: str = "", tail: int | None = None):
        self._source, self._take, self._since, self._tail = source, take, since, tail
        self._cursor = Cursor()
        self._restarts = 0
        self._life = Life(0, 0)
        self._begun = False
        self._rest = b""  # the end of the latest reading, without an end of line: a line if nothing comes after it
        self._end: Tuple[str, int, bytes] | None = None
        self._blank = 0

    def once(self) -> None:
        """Reads what there is."""
        now = self._source.look()
        if now.started:
            self._life = now.life
            try:
                self._read(False)
            except ApiError as error:
                if error.status != 400:  # it has no log yet
                    raise
            self._flush()

    def follow(self) -> str:
        """Reads until the container has ended; returns why lines may be missing, else an empty text."""
        broken = ""
        while True:
            now = self._source.look()
            if now.gone:
                self._flush()
                return broken or ("" if self._begun or not now.started else "the pod was gone before its log could be read")
            if not now.started or now.restarting:
                self._source.wait()
                continue
            try:
                self._follow_restarts(now)
                self._read(True)
                broken = ""
            except ApiError as error:
                if error.status in (401, 403):
                    return error.message
                if error.status not in (400, 404):
                    broken = f"the end of the log may be missing: {error.message}"
                elif now.ended and self._begun:
                    self._flush()
                    return broken
                self._source.wait()
                continue
            if now.ended and self._is_confirmed():
                self._flush()
                return ""
            if not now.ended:
                self._source.wait()

    def _follow_restarts(self, now: Container) -> None:
        """Reads what is left of the log before, if the kubelet has started the container again in its pod."""
        if now.restarts > self._restarts and (self._begun or self._tail is None):
            try:
                self._end, self._life = None, now.before
                self._read(False, previous=True)
                while not self._is_confirmed():
                    self._read(False, previous=True)
            except ApiError as error:
                if error.status not in (400, 404):  # the kubelet keeps one log before the present one
                    raise
            self._flush()
            self._cursor.turn()
            self._end, self._blank = None, 0
        self._restarts, self._life = now.restarts, now.life

    def _is_confirmed(self) -> bool:
        now = (self._cursor.last, self._cursor.count, self._rest)
        same = now == self._end and self._cursor.reached()
        self._end = now
        return same or self._blank >= MOST_BLANK

    def _read(self, follow: bool, previous: bool = False) -> None:
        query = {"timestamps": "true", "follow": str(follow).lower(), "previous": str(previous).lower()}
        since = max(self._cursor.begin(), self._since)
        if since:
            query["sinceTime"] = since
        if self._tail is not None and not self._begun:
            query["tailLines"] = str(self._tail)
        self._begun, self._rest = True, b""
        rest, seen = b"", False
        for piece in self._source.open(query):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._line(line)
                seen = True
        self._rest = rest
        self._blank = 0 if seen or not self._cursor.count else self._blank + 1

    def _line(self, line: bytes) -> None:
        found = LINE.fullmatch(line)
        if not found:
            raise ApiError(404, line.decode(errors="replace"))  # it is the kubelet who speaks: the log is gone
        time = _time(found)
        if self._cursor.is_new(time):
            self._take(time, found[4].decode(errors="replace"), self._life)

    def _flush(self) -> None:
        """Takes the text behind the last end of line: nothing comes after it any more."""
        rest, self._rest = self._rest, b""
        found = LINE.fullmatch(rest)
        if found and self._cursor.is_new(_time(found)):
            self._take(_time(found), found[4].decode(errors="replace"), self._life)


def _time(found: Any) -> str:
    """Returns the time with nine digits, so that times sort as texts."""
    return found[1].decode() + "." + (found[2] or b".")[1:].decode().ljust(9, "0") + "Z"
