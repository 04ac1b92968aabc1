"""HTTP with JSON bodies to one server, or to several that stand in for each other.

Calls that are safe to repeat are retried until ``deadline``: every request that creates something carries an id of the
caller, so once and once again is the same as once. Connections are kept and shared by threads, one call at a time each.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import ssl
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote, urlsplit

from .errors import LeaseholdError

Reply = Dict[str, Any]

DEFAULT_URL = "http://127.0.0.1:7420"
#: How long a call waits for its answer, besides what it asked the server to wait.
ANSWER_S = 30.0
#: Answers with these codes mean that nothing was done, and that another try may succeed.
NOTHING_DONE = ("NOT_LEADER", "OVERLOADED")
#: After these the call may have been carried out.
UNKNOWN = ("UNAVAILABLE", "UNREACHABLE")
#: Another try may succeed.
TRANSIENT = NOTHING_DONE + UNKNOWN
#: What a proxy answers when it gets no answer itself; the server answers with a problem.
GATEWAY = (502, 503, 504)
IDLE_MAX = 8


def path_of(*parts: str) -> str:
    """A path whose parts may contain anything, slashes included."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


class Abort:
    """Ends a call that another thread waits for: the server then gives back what it would have granted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self.is_set = False

    def watch(self, sock: Optional[socket.socket]) -> None:
        with self._lock:
            self._socket = sock
            if self.is_set:
                self._hang_up()

    def set(self) -> None:
        with self._lock:
            self.is_set = True
            self._hang_up()

    def _hang_up(self) -> None:
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed already.


class Wire:
    def __init__(self, urls: Optional[Sequence[str]], token: Optional[str], retry: float) -> None:
        text = os.environ.get("LEASEHOLD_URL") or DEFAULT_URL
        self.urls = list(urls) if urls else [url.strip() for url in text.split(",")]
        for url in self.urls:
            if urlsplit(url).scheme not in ("http", "https"):
                raise ValueError(f"{url} is not the URL of a server; it looks like {DEFAULT_URL}.")
        self.token = token if token is not None else os.environ.get("LEASEHOLD_TOKEN") or None
        self.retry = retry
        self._current = 0
        self._idle: Dict[str, List[http.client.HTTPConnection]] = {}
        self._lock = threading.Lock()

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        wait: float = 0.0,
        is_safe: bool = True,
        deadline: Optional[float] = None,
        abort: Optional[Abort] = None,
    ) -> Reply:
        """Sends a call, and again while that can help. ``deadline`` is an instant of ``time.monotonic``."""
        data = None if body is None else encoded(body, "The request")
        until = time.monotonic() + self.retry + wait if deadline is None else deadline
        pause = 0.05
        while True:
            try:
                left = min(ANSWER_S + wait, max(until - time.monotonic(), 0.05))
                return self._once(method, path, data, left if deadline is not None else ANSWER_S + wait, abort)
            except LeaseholdError as error:
                if abort is not None and abort.is_set:
                    raise
                is_again = error.code in TRANSIENT and (is_safe or error.effect == "none")
                if not is_again or time.monotonic() + pause >= until:
                    raise
                self._next()
            time.sleep(pause)
            pause = min(pause * 2, 1.0)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def _next(self) -> None:
        with self._lock:
            self._current = (self._current + 1) % len(self.urls)

    def _once(
        self, method: str, path: str, data: Optional[bytes], timeout: float, abort: Optional[Abort]
    ) -> Reply:
        url = self.urls[self._current]
        headers = {"accept": "application/json"}
        if data is not None:
            headers["content-type"] = "application/json"
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        is_sent = False
        connection = self._take(url)
        try:
            connection.timeout = timeout
            if connection.sock is None:
                connection.connect()
            sock = connection.sock
            if sock is not None:
                sock.settimeout(timeout)
            if abort is not None:
                abort.watch(sock)
            is_sent = True
            connection.request(method, urlsplit(url).path.rstrip("/") + path, data, headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as fault:
            connection.close()
            effect = "unknown" if is_sent else "none"
            raise LeaseholdError("UNREACHABLE", f"No server answers at {url} ({fault}).", effect=effect) from fault
        finally:
            if abort is not None:
                abort.watch(None)
        self._give_back(url, connection)
        return judged(status, text, url)

    def _take(self, url: str) -> http.client.HTTPConnection:
        while True:
            with self._lock:
                idle = self._idle.get(url)
                kept = idle.pop() if idle else None
            if kept is None:
                break
            # Readable without a request: the server closed it. A call sent there would have an unknown effect.
            if kept.sock is not None and not select.select([kept.sock], [], [], 0)[0]:
                return kept
            kept.close()
        at = urlsplit(url)
        if at.scheme == "https":
            return http.client.HTTPSConnection(at.netloc, context=ssl.create_default_context())
        return http.client.HTTPConnection(at.netloc)

    def _give_back(self, url: str, connection: http.client.HTTPConnection) -> None:
        if connection.sock is None:
            return
        with self._lock:
            idle = self._idle.setdefault(url, [])
            if len(idle) < IDLE_MAX:
                idle.append(connection)
                return
        connection.close()


def judged(status: int, text: bytes, url: str) -> Reply:
    """The body of a success; a refusal is raised by its code."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict) or (status >= 400 and not isinstance(body.get("code"), str)):
        code, says = "PROTOCOL", f"{url} is not a leasehold server (status {status})."
        if status in GATEWAY:
            code, says = "UNREACHABLE", f"A gateway before {url} answered {status}."
        raise LeaseholdError(code, says, status=status, effect="unknown")
    if status >= 400:
        message = str(body.get("detail") or body.get("title") or "")
        effect = "unknown" if body["code"] in UNKNOWN else "none"
        raise LeaseholdError(body["code"], message, status=status, effect=effect, problem=body)
    return body


def encoded(value: Any, what: str) -> bytes:
    """As short as JSON can be, in UTF-8: the limits of the server count these bytes."""
    try:
        try:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair, as in names of files, has no UTF-8 but an escape.
            return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except TypeError as fault:
        raise TypeError(f"{what} has no JSON form: {fault}") from fault
    except (ValueError, RecursionError) as fault:
        hint = " (NaN or an infinity)" if "float" in str(fault) else ""
        raise ValueError(f"{what} has no JSON form: {fault}{hint}") from fault


def milliseconds(seconds: float) -> int:
    return max(int(round(seconds * 1000)), 0)


__all__: Tuple[str, ...] = ("Abort", "Reply", "Wire", "encoded", "milliseconds", "path_of")
