"""Requests in flight at one address, and how many of them are certainly stuck (DESIGN section 4, Stalled).

A hung request writes no log line, but the proxy counts it. All here errs to the side of too few: never an invention.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Flights:
    """Samples of the requests that wait for a header at one address, and all that ended there.

    A poll that shows what the one before it showed is no new sample: most addresses are idle most of the time.
    """

    __slots__ = ("_ats", "_carried", "_ended", "_polled_at", "_process", "_waiting", "count", "ended")

    def __init__(self) -> None:
        self.count: int | None = None
        """Requests in flight as last polled, open bodies included; None without a valid poll."""
        self.ended = 0
        """Everything that may have ended one of the requests in flight, since the start."""
        self._ats = array("d")
        self._waiting = array("q")
        self._ended = array("q")
        """When each sample was first taken, how many were waiting, and how many had ended by then."""
        self._polled_at = 0.0
        """When the latest sample was last seen to hold."""
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
            self._forget(len(self._ats))
            return
        if process != self._process:
            self._forget(len(self._ats))
            self._carried = 0
        self._process = process
        waiting = max(0, count - streaming)
        self._carried = waiting if self._carried is None else min(self._carried, waiting)
        self._polled_at = at
        if not self._ats or (self._waiting[-1], self._ended[-1]) != (waiting, self.ended):
            self._ats.append(at)
            self._waiting.append(waiting)
            self._ended.append(self.ended)
            self._forget(bisect_right(self._ats, at - keep) - 1)

    def _forget(self, oldest: int) -> None:
        if oldest > 0:
            del self._ats[:oldest], self._waiting[:oldest], self._ended[:oldest]

    def readmitted(self) -> None:
        """Take what is in flight now out of the evidence: it began before the readmission.

        It is taken off until fewer are in flight: which of them ended cannot be told.
        """
        self._carried = self._waiting[-1] if self._ats else None
        self._forget(len(self._ats) - 1)
        if self._ats:
            self._ats[0] = self._polled_at

    def shift(self, by: float) -> None:
        """Move the samples with a wall clock that was set."""
        self._ats = array("d", [at + by for at in self._ats])
        self._polled_at += by

    def stalled(self, after: float) -> int:
        """Count the requests that have certainly waited `after` seconds or more, as of the latest sample.

        What ended since that sample is taken off too: it may have been one of them.
        """
        base = bisect_right(self._ats, self._polled_at - after) - 1
        if base < 0:
            return 0
        waiting, ended = self._waiting[-1], self._ended[-1]
        stuck = min(waiting, self._waiting[base] - (ended - self._ended[base]))
        return max(0, stuck - (self._carried or 0) - (self.ended - ended))
