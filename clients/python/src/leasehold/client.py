"""The client: leases, tasks and objects of one server, or of several that stand in for each other."""

from __future__ import annotations

import secrets
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from .durations import Duration, seconds
from .errors import LeaseholdError
from .lease import Lease
from .wire import Reply, Wire, milliseconds, path_of
from .worker import Task, Worker


class Client:
    """``url`` and ``token`` come from LEASEHOLD_URL and LEASEHOLD_TOKEN by default; nothing is sent before the first call.

    Calls are retried for ``retry`` seconds while no server answers. Threads may share a client.
    """

    def __init__(
        self,
        url: Union[str, Sequence[str], None] = None,
        *,
        token: Optional[str] = None,
        retry: Duration = 30.0,
    ) -> None:
        self._wire = Wire([url] if isinstance(url, str) else url, token, seconds(retry, "retry"))

    def lease(self, name: str, *, ttl: Duration = 15.0, wait: Duration = 0.0, holder: Optional[str] = None) -> Lease:
        """A lease to be used in a ``with`` statement. ``ttl`` and ``wait`` are seconds, or text such as ``1m``.

        Raises LEASE_HELD when another holder has it and ``wait`` is over.
        """
        return Lease(self._wire, name, seconds(ttl, "ttl"), seconds(wait, "wait"), holder)

    def enqueue(
        self,
        payload: Any,
        *,
        queue: str = "default",
        task_id: Optional[str] = None,
        priority: int = 0,
        delay: Duration = 0.0,
        key: Optional[str] = None,
        dedup_key: Optional[str] = None,
        retry: Optional[Mapping[str, int]] = None,
        max_attempts: Optional[int] = None,
    ) -> str:
        """Creates a task and gives its id. Repeating it with the same ``task_id`` and payload creates nothing new.

        ``retry`` is ``{"max_failures": 5, "backoff_ms": 1000, "max_backoff_ms": 300000}`` or a part of it;
        ``max_attempts`` is how often the task may be leased.
        """
        # Chosen here, so that a lost reply is retried safely.
        body: Reply = {"task_id": task_id or f"py-{secrets.token_hex(12)}", "payload": payload, "queue": queue}
        if priority:
            body["priority"] = priority
        delay_ms = milliseconds(seconds(delay, "delay"))
        if delay_ms:
            body["delay_ms"] = delay_ms
        given = {"key": key, "dedup_key": dedup_key, "retry": retry, "max_attempts": max_attempts}
        for field, value in given.items():
            if value is not None:
                body[field] = value
        return str(self._wire.call("POST", "/v1/tasks", body)["task_id"])

    def task(self, task_id: str, *, wait: Duration = 0.0) -> Reply:
        """The record of a task; with ``wait``, once it has ended or the wait is over."""
        wait_s = seconds(wait, "wait")
        query = f"?wait_ms={milliseconds(wait_s)}" if wait_s else ""
        return self._wire.call("GET", path_of("v1", "tasks", task_id) + query, wait=wait_s)

    def read(self, object_id: str) -> Optional[Reply]:
        """The object with its ``value`` and ``version``, or None."""
        try:
            return self._wire.call("GET", path_of("v1", "objects", object_id))
        except LeaseholdError as error:
            if error.code == "OBJECT_NOT_FOUND":
                return None
            raise

    def worker(
        self,
        queue: Union[str, Sequence[str]],
        handler: Callable[[Task], Any],
        *,
        concurrency: int = 1,
        ttl: Duration = 30.0,
        grace: Duration = 30.0,
        worker_id: Optional[str] = None,
    ) -> Worker:
        """A worker whose ``run`` calls ``handler`` for every task, in at most ``concurrency`` threads."""
        queues = [queue] if isinstance(queue, str) else list(queue)
        times = seconds(ttl, "ttl"), seconds(grace, "grace")
        return Worker(self._wire, queues, handler, concurrency, *times, worker_id)

    def call(self, method: str, path: str, body: Optional[Mapping[str, Any]] = None) -> Reply:
        """Any other operation as docs/http.md has it. After a lost reply it is not sent again."""
        return self._wire.call(method, path, body, is_safe=False)

    def close(self) -> None:
        self._wire.close()
