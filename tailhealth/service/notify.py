"""Tells others of decisions: webhooks and commands, one JSON event each (DESIGN section 9, `[[notify]]`).

Each receiver has a thread and a queue of its own: one that hangs delays neither a decision nor another receiver. What can't be
delivered after a few tries is counted and dropped, and so is the oldest event of a queue that has grown too long.
"""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import Condition, Thread
from typing import Any, Protocol, Self, TypeAlias

import orjson
import requests

from tailhealth.config import ConfigError, Notify

QUEUE = 1000
"""So many events may wait for one receiver."""
PAUSES = (1.0, 5.0, 25.0)
"""Seconds before each further try."""
TIMEOUT = 10.0
"""Seconds that a webhook, or a command, may take."""
PATIENCE = 5.0
"""Seconds that the end of the controller waits for events that are on their way."""


Tell: TypeAlias = Callable[[str, dict[str, Any]], None]
"""Told of something by its kind and fields; never waits."""


def nobody(kind: str, fields: dict[str, Any]) -> None:
    """Tell nobody: no receiver is configured."""
    del kind, fields


class DeliveryError(Exception):
    """An event could not be delivered this time; the text says why, and holds no secret."""


class Receiver(Protocol):
    """Takes an event."""

    @property
    def name(self) -> str:
        """Say who it is, without a secret."""
        ...

    def deliver(self, event: bytes) -> None:
        """Deliver an event.

        Raises:
            DeliveryError: It did not take it.
        """
        ...


class Webhook:
    """Gets each event by POST.

    Args:
        name: Its key in the configuration: the address may hold a secret.
        url: The address.
    """

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url

    def deliver(self, event: bytes) -> None:
        """See `Receiver`."""
        try:
            answer = requests.post(
                self._url, data=event, headers={"Content-Type": "application/json"}, timeout=TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            # The exception's own text holds the address.
            raise DeliveryError(f"{self.name}: {type(error).__name__}") from None
        if not answer.ok:
            raise DeliveryError(f"{self.name}: answered {answer.status_code}")


class Command:
    """Gets each event on its standard input. Nothing of the event is ever part of the command.

    Args:
        arguments: The command as a list; no shell sees it.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.name = arguments[0]
        self._arguments = list(arguments)

    def deliver(self, event: bytes) -> None:
        """See `Receiver`."""
        try:
            subprocess.run(
                self._arguments,
                input=event,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIMEOUT,
                check=True,
                start_new_session=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise DeliveryError(f"{self.name}: {error}") from None


class Post:
    """The queue and the thread of one receiver.

    Args:
        receiver: Who gets the events.
        pauses: Seconds before each further try.
    """

    def __init__(self, receiver: Receiver, pauses: Sequence[float] = PAUSES) -> None:
        self.delivered = 0
        self.dropped = 0
        self.problem = ""
        """Why the latest event was not delivered; empty: it was."""
        self._receiver = receiver
        self._pauses = pauses
        self._events: deque[bytes] = deque()
        self._changed = Condition()
        self._stopping = False
        self._thread = Thread(target=self._run, name=f"notify {receiver.name}", daemon=True)

    @property
    def name(self) -> str:
        """Say who gets the events."""
        return self._receiver.name

    def put(self, event: bytes) -> None:
        """Queue an event; never waits."""
        with self._changed:
            if len(self._events) >= QUEUE:
                self._events.popleft()
                self.dropped += 1
                self.problem = f"{self.name}: too slow, the oldest events are dropped"
            self._events.append(event)
            self._changed.notify()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._events or self._stopping)
                if not self._events:
                    return
                event = self._events.popleft()
            self._deliver(event)

    def _deliver(self, event: bytes) -> None:
        for pause in (*self._pauses, None):
            try:
                self._receiver.deliver(event)
            except DeliveryError as error:
                self.problem = str(error)
            else:
                self.problem = ""
                self.delivered += 1
                return
            with self._changed:
                if pause is None or self._changed.wait_for(lambda: self._stopping, pause):
                    break
        self.dropped += 1


class Notifier:
    """All receivers of a configuration. Use it as a context."""

    def __init__(self, receivers: Sequence[Receiver]) -> None:
        self.posts = [Post(one) for one in receivers]
        self._stack = ExitStack()

    def tell(self, kind: str, fields: dict[str, Any]) -> None:
        """Tell everybody of one event; never waits."""
        if self.posts:
            event = orjson.dumps({"v": 1, "type": kind, **fields})
            for post in self.posts:
                post.put(event)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for post in self.posts:
                stack.enter_context(post)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def receivers_of(tables: Sequence[Notify]) -> list[Receiver]:
    """Return the receivers of `[[notify]]`.

    Raises:
        ConfigError: The secret of an address can't be read; it names the place, never the value.
    """
    found: list[Receiver] = []
    for index, table in enumerate(tables):
        if table.url is not None:
            try:
                found.append(Webhook(f"notify[{index}].url", table.url.reveal()))
            except LookupError as error:
                raise ConfigError([f"notify[{index}].url: {error.args[0]}"]) from None
        elif table.command is not None:
            found.append(Command(table.command))
    return found
