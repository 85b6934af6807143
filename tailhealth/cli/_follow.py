"""`tailhealth parse --follow`: attempts as they are written, until SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from types import FrameType

import click
import orjson

from tailhealth.cli._common import Failure, Wrong
from tailhealth.cli._screen import console
from tailhealth.cli._zone import local_zone
from tailhealth.config import STDIN, Config
from tailhealth.logs.waker import Waker
from tailhealth.service.follow_parsing import FollowParsing, Shown
from tailhealth.service.follow_state import FollowStateError
from tailhealth.views.parsed import Outcomes, attempt_line, attempt_record, parse_summary, summary
from tailhealth.views.text import harmless


def follow(config: Config, logs: Sequence[str], state: Path | None, *, as_json: bool) -> None:
    """Print attempts as they are written, and a summary when told to stop.

    Raises:
        Wrong: A log can't be followed, or the state directory can't be used.
        Failure: The state can't be written any more.
    """
    for log in logs:
        if log != STDIN and Path(log).is_dir():
            raise Wrong(f"{log}: a folder can't be followed: name the log that is written to")
    try:
        parsing = FollowParsing(config, logs, state)
    except FollowStateError as error:
        raise Wrong(str(error)) from None
    printer = _Json() if as_json else _Text()
    with parsing, closing(Waker(parsing.paths, pipes=parsing.pipes)) as waker, _told_to_stop(waker) as stop:
        try:
            _loop(parsing, printer, waker, stop)
        except FollowStateError as error:
            raise Failure(str(error)) from None
        printer.end(parsing)


def _loop(parsing: FollowParsing, printer: _Json | _Text, waker: Waker, stop: Event) -> None:
    notice = None
    while not stop.is_set() and not parsing.ended:
        printer.show(parsing.poll())
        for line in parsing.news():
            _say(line)
        if waker.notice != notice:
            notice = waker.notice
            _say(notice or "")
        parsing.save()
        for pipe, is_at_its_end in parsing.pipes.items():
            if is_at_its_end:
                waker.ended(pipe)
        if not parsing.more and not stop.is_set() and not parsing.ended:
            waker.wait(parsing.due_in)
    printer.show(parsing.finish())
    parsing.save(at_once=True)


def _say(line: str) -> None:
    click.echo(f"tailhealth: {harmless(line)}", err=True)


class _Json:
    """Prints objects."""

    def show(self, shown: list[Shown]) -> None:
        """Print attempts, and let them go at once: what is kept as done must be out."""
        write = sys.stdout.buffer.write
        for attempt, outcome, generation, amends in shown:
            record = attempt_record(attempt, outcome, generation.path, None)
            record["generation"] = generation.fingerprint
            if amends is not None:
                record["amends"] = {"generation": amends[0].fingerprint, "offset": amends[1]}
            write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()

    def end(self, parsing: FollowParsing) -> None:
        """Print the summary."""
        sys.stdout.buffer.write(orjson.dumps(parse_summary(parsing.summed_up(), []), option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()


class _Text:
    """Prints lines for people."""

    def __init__(self) -> None:
        self._outcomes = Outcomes()
        self._zone = local_zone()

    def show(self, shown: list[Shown]) -> None:
        """Print attempts."""
        for attempt, outcome, _, amends in shown:
            self._outcomes.add(attempt.upstream, outcome)
            late = " (said before to be otherwise)" if amends is not None else ""
            sys.stdout.write(attempt_line(attempt, outcome, self._zone) + late + "\n")
        sys.stdout.flush()

    def end(self, parsing: FollowParsing) -> None:
        """Print the summary."""
        console().print(summary(parsing.summed_up(), self._outcomes, []))


@contextmanager
def _told_to_stop(waker: Waker) -> Iterator[Event]:
    """Let SIGTERM and SIGINT end it in order."""
    stop = Event()

    def obey(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()
        waker.wake()

    before = {number: signal.signal(number, obey) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
