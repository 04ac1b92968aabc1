"""What can go wrong, by code; and what a task handler raises to choose a verdict.

Codes are those of the server (docs/errors.md), and three of the client: UNREACHABLE, PROTOCOL and LEASE_LOST.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

from .durations import Duration, seconds


class LeaseholdError(Exception):
    """A refusal of the server, or a fault on the way to it.

    ``effect`` says whether the call was carried out: ``none``, or ``unknown`` after a lost reply.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        effect: str = "none",
        problem: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.effect = effect
        self.problem: Mapping[str, Any] = problem or {}


class LeaseLost(LeaseholdError):
    """The lease is over, or can no longer be shown to be held: stop the work it was for.

    ``loss`` is ``expired``, ``superseded``, ``broken``, ``unreachable``, ``released``, ``killed``, ``cancelled`` or
    ``restored``. ``__cause__`` is the error of the block that it ended, or the last failure when it is ``unreachable``.
    """

    def __init__(self, subject: str, loss: str) -> None:
        super().__init__("LEASE_LOST", f"The lease on {subject} was lost: {loss}.")
        self.subject = subject
        self.loss = loss


class RetryLater(Exception):
    """Raised by a handler: the task has failed, and waits ``delay`` seconds instead of its backoff."""

    def __init__(self, reason: str, delay: Optional[Duration] = None) -> None:
        super().__init__(reason)
        self.delay = None if delay is None else seconds(delay, "delay")


class NoRetry(Exception):
    """Raised by a handler: the task has failed for good."""


class HandBack(Exception):
    """Raised by a handler: the task goes back to its queue, which counts as neither failure nor attempt."""

    def __init__(self, reason: str = "", delay: Duration = 1.0) -> None:
        super().__init__(reason)
        self.delay = seconds(delay, "delay")
