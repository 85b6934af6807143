"""Requests in flight at one address, and how many of them are certainly stuck (DESIGN section 4, Stalled).

A hung request writes no log line, but the proxy counts it. All here errs to the side of too few: never an invention.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class _Sample(NamedTuple):
    at: float
    waiting: int
    ended: int


class Flights:
    """Samples of the requests that wait for a header at one address, and all that ended there."""

    __slots__ = ("_carried", "_process", "_samples", "count", "ended")

    def __init__(self) -> None:
        self.count: int | None = None
        """Requests in flight as last polled, open bodies included; None without a valid poll."""
        self.ended = 0
        """Everything that may have ended one of the requests in flight, since the start."""
        self._samples: deque[_Sample] = deque()
        self._process = ""
        self._carried: int | None = 0
        """Of the requests in flight, how many may have begun before the readmission; None: as many as the next poll shows."""

    def sample(self, at: float, count: int | None, process: str, streaming: int, keep: float) -> None:
        """Take a poll.

        Args:
            at: Time of the poll.
            count: Requests in flight; None if the poll failed, which makes older samples worthless.
            process: Identity of the proxy process; another one makes older samples worthless.
            streaming: Requests whose header came already and whose body is still open.
            keep: How far back a sample may be asked for, in seconds.
        """
        self.count = count
        if count is None:
            self._samples.clear()
            return
        if process != self._process:
            self._samples.clear()
            self._carried = 0
        self._process = process
        waiting = max(0, count - streaming)
        self._carried = waiting if self._carried is None else min(self._carried, waiting)
        self._samples.append(_Sample(at, waiting, self.ended))
        while len(self._samples) > 1 and self._samples[1].at <= at - keep:
            self._samples.popleft()

    def readmitted(self) -> None:
        """Take what is in flight now out of the evidence: it began before the readmission.

        It is taken off until fewer are in flight: which of them ended cannot be told.
        """
        self._carried = self._samples[-1].waiting if self._samples else None
        while len(self._samples) > 1:
            self._samples.popleft()

    def shift(self, by: float) -> None:
        """Move the samples with a wall clock that was set."""
        self._samples = deque(sample._replace(at=sample.at + by) for sample in self._samples)

    def stalled(self, after: float) -> int:
        """Count the requests that have certainly waited `after` seconds or more, as of the latest sample.

        What ended since that sample is taken off too: it may have been one of them.
        """
        if not self._samples:
            return 0
        latest = self._samples[-1]
        base = None
        for sample in self._samples:
            if sample.at > latest.at - after:
                break
            base = sample
        if base is None:
            return 0
        stuck = min(latest.waiting, base.waiting - (latest.ended - base.ended))
        return max(0, stuck - (self._carried or 0) - (self.ended - latest.ended))
