"""The machines of incident A: `/api/version` answers at once, always; `/api/chat` takes its time, and hangs when wedged."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.real.servers import Behaviour, Upstream

if TYPE_CHECKING:
    from tests.real.servers import _Handler

CHAT, VERSION = "/api/chat", "/api/version"
ASKED = f"{CHAT}?by=a-client"
"""What clients ask for: a request for `/api/chat` without the query comes from a check."""
FASTEST, SLOWEST = 0.1, 0.6
"""Seconds of a healthy answer: 10 to 60 s of a 14B model, a hundred times as fast."""


class InferenceNode(Upstream):
    """One machine.

    Args:
        seed: Makes its answer times.
    """

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        super().__init__()

    def wedge(self) -> None:
        """From now on `/api/chat` never answers."""
        self.behaviour = Behaviour.HANG

    @property
    def asked(self) -> int:
        """Count the requests of clients so far."""
        return sum(one.path == ASKED for one in list(self.seen))

    def _act(self, handler: _Handler, behaviour: Behaviour) -> None:
        if handler.path == VERSION:
            self._header(handler, len(self.body))
            return
        if behaviour is Behaviour.ANSWER:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped, self._dice.uniform(FASTEST, SLOWEST))
        super()._act(handler, behaviour)
