"""Attempts as they are written, through random steps: each exactly once (DESIGN section 9, `parse --follow`)."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tailhealth.service.follow_parsing import WAIT
from tests.logs import nginx_lines
from tests.logs.caddy_lines import line, roundtrip
from tests.service.followed import Stage, stage_in


class Traffic:
    """What may happen to a log, one step after the other."""

    def __init__(self, stage: Stage) -> None:
        self.wanted: list[str] = []
        self._stage = stage
        self._running: list[int] = []
        self._half = b""
        self._number = 0

    def request(self) -> None:
        """A request ends. It was at an upstream of its own: whether round-trip lines come is told by upstream."""
        self._write(line(self._next(), upstream=f"10.9.1.{self._number}:80"))

    def torn(self) -> None:
        """The line of a request is there by half when a process is stopped."""
        whole = line(self._next(), upstream=f"10.9.1.{self._number}:80")
        self._write(whole[: len(whole) // 2])
        self._half = whole[len(whole) // 2 :]
        self._stage.look(0.1)
        self._stage.restart()

    def nginx(self) -> None:
        """Another proxy writes to the same file."""
        self._write(nginx_lines.line(request_uri=f"/r/{self._next()}", upstream_addr="10.9.0.9:80"))

    def header(self) -> None:
        """A request gets its header."""
        self._write(roundtrip(self._next()))
        self._running.append(self._number)

    def end(self) -> None:
        """A request of which the header came ends."""
        if self._running:
            self._write(line(self._running.pop()))

    def look(self) -> None:
        """The process looks."""
        self._write()
        self._stage.look(0.3)

    def stop(self) -> None:
        """The process is stopped, and another one begins."""
        self._write()
        self._stage.restart()

    def rotate(self) -> None:
        """The log is renamed, and a new file begins."""
        self._write()
        if self._stage.log.stat().st_size:
            self._stage.look()
            self._number += 1
            self._stage.log.rename(self._stage.log.with_name(f"access.log.{self._number}"))
            self._stage.log.touch()

    def _next(self) -> int:
        self._number += 1
        self.wanted.append(f"/r/{self._number}")
        return self._number

    def _write(self, data: bytes = b"") -> None:
        self._stage.write(self._half, data)
        self._half = b""


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["request", "torn", "nginx", "header", "end", "look", "stop", "rotate"]), max_size=30))
def test_every_attempt_once(steps: list[str]) -> None:
    """Whatever is written in whichever pieces, and whenever processes stop: each attempt is printed exactly once."""
    with TemporaryDirectory() as name, stage_in(Path(name)) as stage:
        traffic = Traffic(stage)
        for step in steps:
            getattr(traffic, step)()
        traffic.look()
        stage.look(WAIT)
        stage.restart()

        assert sorted(stage.paths) == sorted(traffic.wanted)
