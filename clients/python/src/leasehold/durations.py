"""Durations as people write them: seconds as a number, or text such as ``500ms``, ``15s``, ``1m``, ``2h`` and ``1d``."""

from __future__ import annotations

import re
from typing import Union

Duration = Union[float, str]

UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
WRITTEN = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m|h|d)")


def seconds(duration: Duration, what: str) -> float:
    """The duration in seconds; ``what`` names it in the sentence that refuses anything else."""
    value: object = duration
    if isinstance(duration, str):
        written = WRITTEN.fullmatch(duration.strip())
        value = float(written[1]) * UNIT_S[written[2]] if written else None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    raise ValueError(
        f"The {what} {duration!r} is not a duration: give seconds as a number, or text such as 500ms, 15s, 1m, 2h or 1d."
    )
