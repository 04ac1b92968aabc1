"""A named lease, renewed by a thread of its own while the ``with`` block runs."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from types import TracebackType
from typing import Any, Optional, Type

from .errors import LeaseholdError, LeaseLost
from .held import Deadline, LostEvent, both_clocks
from .wire import Reply, Wire, milliseconds, path_of

#: A waiting call is sent anew so often, so that proxies do not cut it.
WAIT_STEP_S = 30.0
RELEASE_S = 2.0


def unique_name() -> str:
    """The holder or worker of this one instance, readable for people."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_urlsafe(6)}"


class Lease:
    """``with client.lease(name) as lease``, once. Its token never leaves it; ``lease_seq`` is its fencing number."""

    def __init__(self, wire: Wire, name: str, ttl: float, wait: float, holder: Optional[str]) -> None:
        self.name = name
        self.holder = holder or unique_name()
        self.lease_seq = 0
        self._wire = wire
        self._ttl = ttl
        self._wait = wait
        # Chosen here, so that an acquire whose reply was lost is repeated and finds its own grant.
        self._token = secrets.token_urlsafe(24)
        self._deadline = Deadline(f'"{name}"')
        self._is_acquired = False
        self._closing = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name=f"leasehold {name}", daemon=True)

    @property
    def lost(self) -> LostEvent:
        """Set when the lease is lost; ``lost.cause`` says why. Hand it to loops that should end early."""
        self._assert_used(True)
        return self._deadline.lost

    def remaining(self) -> float:
        self._assert_used(True)
        return self._deadline.remaining()

    def assert_held(self) -> None:
        self._assert_used(True)
        self._deadline.assert_held()

    def _assert_used(self, is_acquired: bool) -> None:
        if self._is_acquired != is_acquired:
            state = "was used before" if self._is_acquired else "has not been acquired"
            raise RuntimeError(f'The lease on "{self.name}" {state}: use it once, in a with statement.')

    def write(self, value: Any, *, if_version: Optional[int] = None) -> int:
        """Writes the object of the same name and gives its version; refused once another holder has taken over.

        It is the server that decides, so a late write is refused also when this process believes to hold the lease.
        """
        self._assert_used(True)
        lease = {"lease_seq": self.lease_seq, "object_id": self.name, "holder_id": self.holder}
        body = {"value": value, "lease": lease}
        if if_version is not None:
            body["if_version"] = if_version
        reply = self._wire.call("PUT", path_of("v1", "objects", self.name), body, is_safe=False)
        return int(reply["version"])

    def __enter__(self) -> "Lease":
        self._assert_used(False)
        until = time.monotonic() + self._wait
        while True:
            left = max(until - time.monotonic(), 0.0)
            wait = min(left, WAIT_STEP_S)
            sent = both_clocks()
            try:
                grant = self._send("acquire", {"token": self._token, "wait_ms": milliseconds(wait)}, wait=wait)
                break
            except LeaseholdError as error:
                if error.code != "LEASE_HELD" or time.monotonic() >= until:
                    raise
        self.lease_seq = int(grant["lease_seq"])
        if both_clocks()[0] - sent[0] > self._ttl / 10:
            # The grant came some time after the request, and how long after is not known: only a renewal says how long it lasts.
            sent = both_clocks()
            grant = self._send("renew", {"token": self._token})
        self._deadline.extend(sent, int(grant["remaining_ms"]))
        self._is_acquired = True
        self._renewer.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._closing.set()
        self._renewer.join()
        cause = self.lost.cause or (None if self.remaining() > 0 else "expired")
        if cause is None or cause in ("expired", "unreachable"):
            try:
                until = time.monotonic() + RELEASE_S
                self._send("release", {"token": self._token}, has_ttl=False, deadline=until)
            except LeaseholdError:
                pass  # It ends by time.
        if cause is not None:
            self.lost.tell(cause)
            loss = self._deadline.loss()
            if error is None:
                raise loss
            # An error of work that went on without its lease. Exits, interrupts and its own loss pass unchanged.
            if isinstance(error, Exception) and not (isinstance(error, LeaseLost) and error.subject == loss.subject):
                raise loss from error
        self.lost.tell("released")

    def _send(
        self,
        verb: str,
        body: Reply,
        *,
        has_ttl: bool = True,
        wait: float = 0.0,
        deadline: Optional[float] = None,
    ) -> Reply:
        whole: Reply = {"holder": self.holder, **body}
        if has_ttl:
            whole["ttl_ms"] = milliseconds(self._ttl)
        path = path_of("v1", "leases", self.name, verb)
        return self._wire.call("POST", path, whole, wait=wait, deadline=deadline)

    def _renew(self) -> None:
        """A third of the time after each renewal, until the end."""
        while not self._closing.wait(min(self._ttl / 3, self.remaining())):
            left = self.remaining()
            if left <= 0:
                self.lost.tell("expired")
                return
            sent = both_clocks()
            try:
                grant = self._send("renew", {"token": self._token}, deadline=time.monotonic() + left)
            except LeaseholdError as error:
                if error.code == "LEASE_EXPIRED":
                    self.lost.tell("expired")
                elif error.code == "LEASE_NOT_HELD":
                    self.lost.tell(self._how_it_ended())
                else:
                    self._closing.wait(self.remaining())
                    if not self._closing.is_set():
                        self.lost.tell("unreachable", error)
                return
            self._deadline.extend(sent, int(grant["remaining_ms"]))

    def _how_it_ended(self) -> str:
        """A grant to the same holder supersedes; anything else that ends a lease early is a break or a wipe."""
        try:
            now = self._wire.call("GET", path_of("v1", "leases", self.name), deadline=time.monotonic() + 1)
        except LeaseholdError:
            return "broken"
        return "superseded" if now.get("holder") == self.holder else "broken"
