"""How long something is held for certain, and the event that says that it no longer is.

A deadline counts from before the request was sent that the server answered, so it is never after the server's own. It
is kept by two clocks: one that goes on while the machine sleeps (or the process is stopped), and the wall clock. The
earlier one decides. A margin is taken off for clock drift and for the time between a check and the act that it is for.
"""

from __future__ import annotations

import threading
import time
from typing import Optional, Tuple

from .errors import LeaseLost

MARGIN_PART = 0.05
MARGIN_MIN_S = 0.05
MARGIN_PART_MAX = 0.25


def elapsed_clock() -> float:
    """Seconds that have passed, those asleep included where the system counts them."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


def both_clocks() -> Tuple[float, float]:
    return elapsed_clock(), time.time()


class LostEvent(threading.Event):
    """Set once something is no longer held; ``cause`` says why, in a word.

    ``fault`` is the last failure to reach the server, when ``cause`` is ``unreachable``.
    """

    cause: Optional[str] = None
    fault: Optional[Exception] = None

    def tell(self, cause: str, fault: Optional[Exception] = None) -> None:
        """The first cause stays."""
        if self.cause is None:
            self.cause, self.fault = cause, fault
        self.set()


class Deadline:
    """The end of a lease as far as this process can know it."""

    def __init__(self, subject: str) -> None:
        self.lost = LostEvent()
        self._subject = subject
        self._ends: Tuple[float, float] = (0.0, 0.0)

    def extend(self, sent: Tuple[float, float], remaining_ms: int) -> None:
        """``sent``: both clocks before the request was sent to which the server answered ``remaining_ms``."""
        length = remaining_ms / 1000
        length -= min(max(length * MARGIN_PART, MARGIN_MIN_S), length * MARGIN_PART_MAX)
        self._ends = (sent[0] + length, sent[1] + length)

    def remaining(self) -> float:
        """Seconds; 0 when it is lost."""
        if self.lost.is_set():
            return 0.0
        elapsed, wall = both_clocks()
        return max(min(self._ends[0] - elapsed, self._ends[1] - wall), 0.0)

    def assert_held(self) -> None:
        """Raises LeaseLost unless it is certainly held; also right after this process was paused."""
        if self.remaining() > 0:
            return
        self.lost.tell("expired")
        raise self.loss()

    def loss(self) -> LeaseLost:
        """The error that says how it was lost; only once it was."""
        error = LeaseLost(self._subject, self.lost.cause or "expired")
        if self.lost.fault is not None:
            error.__cause__ = self.lost.fault
        return error
