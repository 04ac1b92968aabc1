"""A worker: leases tasks, runs a handler for each in a thread, extends them meanwhile, and sends the verdict.

    poll ──▶ handler in a thread ──▶ complete, fail or release
                  └── one heartbeat extends all tasks ──┘

What the handler returns is the result. RetryLater, NoRetry and HandBack choose another verdict; any other exception is
a failure, and so is a result that has no JSON form or that the server does not take: otherwise the task would be run again
each time its lease expires. A task whose lease is lost gets no verdict: another worker may have it.
"""

from __future__ import annotations

import logging
import secrets
import signal
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .errors import HandBack, LeaseholdError, NoRetry, RetryLater
from .held import Deadline, LostEvent, both_clocks
from .lease import unique_name
from .wire import TRANSIENT, Abort, Reply, Wire, encoded, milliseconds, path_of

log = logging.getLogger("leasehold")

POLL_S = 20.0
#: After the grace: what a handler that was told to stop has left.
LAST_S = 2.0
REASON_MAX = 1000
#: As long as the server takes a result.
RESULT_MAX = 256 * 1024


class Task:
    """One leased task, as its handler sees it."""

    def __init__(self, wire: Wire, lease: Reply) -> None:
        self.task_id: str = lease["task_id"]
        self.payload: Any = lease["payload"]
        self.queue: str = lease["queue"]
        self.attempt: int = lease["attempt"]
        self.lease_seq: int = lease["lease_seq"]
        self.key: Optional[str] = lease.get("key")
        #: What an earlier attempt saved with ``save``, or None.
        self.checkpoint: Any = lease.get("checkpoint")
        self._lease_id: str = lease["lease_id"]
        self._wire = wire
        self._deadline = Deadline(f"task {self.task_id}")

    @property
    def stop(self) -> LostEvent:
        """Set when the work should end; ``stop.cause`` is why: ``cancelled``, ``stopping``, or how the lease was lost."""
        return self._deadline.lost

    def remaining(self) -> float:
        return self._deadline.remaining()

    def assert_held(self) -> None:
        self._deadline.assert_held()

    def save(self, value: Any) -> None:
        """Saves how far the work has come, durably; the next attempt finds it as ``checkpoint``."""
        self._send("checkpoint", {"value": value})

    def _send(self, verb: str, body: Reply, deadline: Optional[float] = None) -> Reply:
        path = path_of("v1", "tasks", self.task_id, verb)
        return self._wire.call("POST", path, {"lease_id": self._lease_id, **body}, deadline=deadline)


class Worker:
    """``run`` works until ``stop`` is called or, in the main thread, SIGTERM or SIGINT comes; then it drains."""

    def __init__(
        self,
        wire: Wire,
        queues: Sequence[str],
        handler: Callable[[Task], Any],
        concurrency: int,
        ttl: float,
        grace: float,
        worker_id: Optional[str],
    ) -> None:
        self.worker_id = worker_id or unique_name()
        self._wire = wire
        self._queues = list(queues)
        self._handler = handler
        self._ttl = ttl
        self._grace = grace
        self._free = threading.Semaphore(concurrency)
        self._concurrency = concurrency
        self._running: Dict[str, Task] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._poll = Abort()

    def stop(self) -> None:
        """Leases nothing more; tasks that run may finish within the grace. Safe in a signal handler and any thread."""
        self._stopping.set()
        # In a thread of its own: a signal may have interrupted the poll while it held its lock.
        threading.Thread(target=self._poll.set, daemon=True).start()

    def run(self) -> None:
        """Works until it is stopped and drained. Raises what no retry can mend, such as FORBIDDEN."""
        beat = threading.Thread(target=self._beat, name="leasehold heartbeat", daemon=True)
        beat.start()
        with self._signals():
            try:
                while not self._stopping.is_set():
                    self._step()
            finally:
                self._stopping.set()
                self._drain()
                self._idle.wait()
        beat.join(1)

    def _step(self) -> None:
        if not self._free.acquire(timeout=0.2):
            return
        count = 1
        while count < self._concurrency and self._free.acquire(blocking=False):
            count += 1
        tasks: List[Task] = []
        try:
            tasks = self._lease(count)
        except LeaseholdError as error:
            if self._stopping.is_set():
                return
            if error.code not in TRANSIENT:
                raise
            log.warning("no task could be leased: %s", error)
            self._stopping.wait(1)
        finally:
            for _ in range(count - len(tasks)):
                self._free.release()
        for task in tasks:
            threading.Thread(target=self._work, args=(task,), name=task.task_id, daemon=True).start()

    def _lease(self, count: int) -> List[Task]:
        body = {
            "worker_id": self.worker_id,
            "queues": self._queues,
            "max": count,
            "ttl_ms": milliseconds(self._ttl),
            "wait_ms": milliseconds(POLL_S),
            # A lost reply costs no attempt: the same request finds the same leases.
            "request_id": secrets.token_hex(12),
        }
        sent = both_clocks()
        reply = self._wire.call("POST", "/v1/tasks/lease", body, wait=POLL_S, abort=self._poll)
        found = [Task(self._wire, lease) for lease in reply["leases"]]
        with self._lock:
            for task in found:
                self._running[task._lease_id] = task
                self._idle.clear()
        if found and both_clocks()[0] - sent[0] > self._ttl / 10:
            # They were granted some time after the request. How long after is not known, so an extension says how long they last.
            self._extend(found)
        else:
            for task, lease in zip(found, reply["leases"]):
                task._deadline.extend(sent, int(lease["remaining_ms"]))
        for task in found:
            if task.remaining() <= 0:
                self._forget(task)
        return [task for task in found if task.remaining() > 0]

    def _work(self, task: Task) -> None:
        try:
            verb, body = self._verdict_of(task)
            if task.stop.cause in (None, "cancelled", "stopping") and task._lease_id in self._running:
                self._say(task, verb, body)
        except LeaseholdError as error:
            log.warning("the verdict on task %s was not taken: %s", task.task_id, error)
        finally:
            self._forget(task)
            self._free.release()

    def _say(self, task: Task, verb: str, body: Reply) -> None:
        until = time.monotonic() + max(self._ttl, 5.0)
        try:
            outcome = task._send(verb, body, until).get("outcome")
        except LeaseholdError as error:
            # REJECTED: the server does not know the task or the lease, and would not know it next time.
            if error.status not in (400, 413) or error.problem.get("outcome") == "REJECTED":
                raise
            log.error("the verdict on task %s was refused: %s", task.task_id, error)
            outcome = task._send("fail", {"reason": f"The verdict was refused: {error}"[:REASON_MAX]}, until).get("outcome")
        if outcome == "CANCELLED":
            log.warning("the verdict on task %s came too late, and changes nothing", task.task_id)

    def _verdict_of(self, task: Task) -> Tuple[str, Reply]:
        try:
            result = self._handler(task)
            assert_result(result)
            return "complete", {} if result is None else {"result": result}
        except HandBack as back:
            return "release", {"delay_ms": milliseconds(back.delay)}
        except NoRetry as failure:
            return "fail", {"reason": reason_of(failure), "retry": False}
        except RetryLater as failure:
            delay = {} if failure.delay is None else {"delay_ms": milliseconds(failure.delay)}
            return "fail", {"reason": reason_of(failure), **delay}
        except KeyboardInterrupt:
            self.stop()
            return "release", {}
        except BaseException as failure:
            # SystemExit is one too: a thread that it ends says nothing, and the task would be run again and again.
            # LeaseLost after `stop` is the end of this task; that of another lease is a failure like any other.
            if task.stop.is_set():
                return "release", {}
            log.exception("the handler of task %s failed", task.task_id)
            return "fail", {"reason": reason_of(failure)}

    def _forget(self, task: Task) -> None:
        with self._lock:
            self._running.pop(task._lease_id, None)
            if not self._running:
                self._idle.set()

    def _beat(self) -> None:
        """A third of the time after the last: extends every task, and tells those that are lost."""
        while not (self._stopping.is_set() and self._idle.is_set()):
            time.sleep(min(self._ttl / 3, 0.5) if self._idle.is_set() else self._ttl / 3)
            with self._lock:
                tasks = [task for task in self._running.values() if task.stop.cause in (None, "cancelled", "stopping")]
            fault = self._extend(tasks) if tasks else None
            for task in tasks:
                if task.remaining() <= 0 and not task.stop.is_set():
                    task.stop.tell("unreachable" if fault else "expired", fault)

    def _extend(self, tasks: Sequence[Task]) -> Optional[LeaseholdError]:
        """The failure, unless the server answered."""
        sent = both_clocks()
        listed = [{"task_id": task.task_id, "lease_id": task._lease_id} for task in tasks]
        body = {"leases": listed, "ttl_ms": milliseconds(self._ttl)}
        path = path_of("v1", "workers", self.worker_id, "heartbeat")
        by_lease = {task._lease_id: task for task in tasks}
        try:
            reply = self._wire.call("POST", path, body, deadline=time.monotonic() + self._ttl / 3)
        except LeaseholdError as error:
            log.warning("tasks could not be extended: %s", error)
            return error
        for lease in reply["extended"]:
            task = by_lease[lease["lease_id"]]
            task._deadline.extend(sent, int(lease["remaining_ms"]))
            if lease.get("cancel_requested"):
                task.stop.tell("cancelled")
        for lost in reply["lost"]:
            # One that its own verdict has just ended is not lost.
            if lost["cause"] not in ("completed", "failed", "released"):
                by_lease[lost["lease_id"]].stop.tell(lost["cause"])
        return None

    def _drain(self) -> None:
        if self._idle.wait(self._grace):
            return
        with self._lock:
            tasks = list(self._running.values())
        for task in tasks:
            task.stop.tell("stopping")
        if self._idle.wait(LAST_S):
            return
        for task in tasks:
            with self._lock:
                is_running = self._running.pop(task._lease_id, None) is not None
            if is_running:
                try:
                    task._send("release", {}, time.monotonic() + LAST_S)
                except LeaseholdError as error:
                    log.warning("task %s could not be handed back: %s", task.task_id, error)
        self._idle.set()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Only the main thread may listen; elsewhere the program calls ``stop``."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def assert_result(result: Any) -> None:
    size = len(encoded(result, "The result"))
    if size > RESULT_MAX:
        raise ValueError(f"The result has {size} bytes of JSON; at most {RESULT_MAX} are taken.")


def reason_of(failure: BaseException) -> str:
    if isinstance(failure, SystemExit):
        return f"The handler called sys.exit({'' if failure.code is None else repr(failure.code)})."[:REASON_MAX]
    return (str(failure) or type(failure).__name__)[:REASON_MAX]
