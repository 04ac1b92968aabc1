"""Client of a leasehold server, on the standard library alone.

>>> from leasehold import Client
>>> with Client().lease("nightly-report", ttl=15, wait=60) as lease:
...     lease.write({"rows": 3})
"""

from .client import Client
from .errors import HandBack, LeaseholdError, LeaseLost, NoRetry, RetryLater
from .held import LostEvent
from .lease import Lease
from .worker import Task, Worker

__all__ = [
    "Client",
    "HandBack",
    "Lease",
    "LeaseLost",
    "LeaseholdError",
    "LostEvent",
    "NoRetry",
    "RetryLater",
    "Task",
    "Worker",
]
