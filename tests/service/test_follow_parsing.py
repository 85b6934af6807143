"""Attempts as they are written, each exactly once over restarts (DESIGN section 9, `parse --follow`)."""

from __future__ import annotations

import stat
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.join import UNMATCHED
from tailhealth.core.model import End
from tailhealth.logs.detect import FIRST_LINES
from tailhealth.service.follow_log import READ
from tailhealth.service.follow_parsing import SAVE_EVERY, WAIT
from tailhealth.service.follow_state import FILE, FollowState, FollowStateError
from tests.logs import caddy_lines, nginx_lines
from tests.logs.caddy_lines import BASE, line, roundtrip
from tests.service.followed import Stage, stage_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROKEN = {
    "level": "warn",
    "logger": "http.handlers.reverse_proxy",
    "msg": "aborting with incomplete response",
    "upstream": "10.9.0.1:8080",
    "duration": 0.0184,
    "error": "reading: unexpected EOF",
}


@pytest.fixture(name="stage")
def a_stage(tmp_path: Path) -> Iterator[Stage]:
    """A log, and a process that follows it."""
    with stage_in(tmp_path) as stage:
        yield stage


def test_as_they_are_written(stage: Stage) -> None:
    """What is there is read first, then each line when it comes; a torn one when it is whole."""
    stage.write(line(0), line(1)[:100])

    assert stage.look() == ["/r/0"]
    stage.write(line(1)[100:])
    assert stage.look() == ["/r/1"]
    assert [(one.generation.path, one.attempt.offset) for one in stage.shown] == [
        (str(stage.log), 0),
        (str(stage.log), len(line(0))),
    ]


def test_a_stop_repeats_nothing(stage: Stage) -> None:
    """Another process goes on where the last one left off, also behind a rotation."""
    stage.write(line(0), line(1))
    stage.look()
    stage.stop()
    stage.write(line(2))
    stage.log.rename(stage.log.with_name("access.log.1"))
    stage.write(line(3))
    stage.start()
    stage.look()

    assert stage.paths == ["/r/0", "/r/1", "/r/2", "/r/3"]
    assert len({one.generation.fingerprint for one in stage.shown}) == 2


@pytest.mark.parametrize("pause", [SAVE_EVERY, SAVE_EVERY - 0.01])
def test_a_kill_repeats_what_was_not_saved(stage: Stage, pause: float) -> None:
    """What was printed since the last checkpoint comes again with the same place; nothing is lost."""
    stage.look(SAVE_EVERY)
    stage.write(line(0))
    stage.look(pause)
    stage.write(line(1))
    stage.look()
    stage.kill()
    stage.start()

    places = Counter((one.generation, one.attempt.offset) for one in stage.shown)
    assert list(places.values()) == ([1, 2] if pause >= SAVE_EVERY else [2, 2])


def test_held_back_lines_survive(stage: Stage) -> None:
    """A record over several lines is read from its first line on after a restart, and nothing behind it twice."""
    whole = nginx_lines.line(request_uri="/r/9")
    cut = whole.index(b",") + 1
    stage.write(nginx_lines.line(request_uri="/r/8"), whole[:cut] + b"\n")
    stage.look()
    stage.restart()
    stage.write(whole[cut:])
    stage.look()

    assert stage.paths == ["/r/8", "/r/9"]


def test_lines_behind_a_held_back_one_come_once(stage: Stage) -> None:
    """A line that Docker split waits for its rest over restarts; whole lines of the other stream come once meanwhile."""
    text = line(0)
    stage.write(docker(text[:50], "stdout"), docker(line(1), "stderr"))
    stage.look(SAVE_EVERY)
    stage.write(docker(line(2), "stderr"))
    stage.look(SAVE_EVERY)
    for number in (3, 4):
        stage.restart()
        stage.write(docker(line(number), "stderr"))
        stage.look(SAVE_EVERY)
    stage.restart()
    stage.write(docker(text[50:], "stdout"))
    stage.look()

    assert stage.paths == ["/r/1", "/r/2", "/r/3", "/r/4", "/r/0"]


def test_a_rest_that_never_comes_is_given_up(stage: Stage) -> None:
    """What is remembered behind a held-back line is bounded."""
    stage.write(docker(line(0)[:50], "stdout"))
    stage.look()
    other = docker(line(1), "stderr")
    stage.write(other * (READ + 1000))
    while stage.look(SAVE_EVERY):
        pass

    assert len(stage.shown) == READ + 1000
    stage.restart()
    assert len(stage.shown) == READ + 1000
    stage.write(docker(line(0)[50:], "stdout"), docker(line(2), "stderr"))
    assert stage.look() == ["/r/2"]


def test_first_lines_that_do_not_tell(stage: Stage) -> None:
    """Lines that are held until one tells what the file is are there after a restart."""
    stage.write(b'{"level":"info"}\n' * (FIRST_LINES // 2))
    stage.restart()
    stage.write(line(0))
    stage.look()

    assert stage.paths == ["/r/0"]


def test_the_end_of_a_request_is_awaited(stage: Stage) -> None:
    """A round-trip line waits for its access line, which adds the whole duration, but only for a moment."""
    stage.write(roundtrip(0), roundtrip(1))
    assert stage.look() == []
    stage.write(line(0, duration=0.9))
    assert stage.look(WAIT - 0.01) == ["/r/0"]
    assert stage.look(0.01) == ["/r/1"]
    stage.write(line(1, duration=0.9))
    assert stage.look() == []
    assert [one.attempt.duration for one in stage.shown] == [0.9, None]


def test_requests_that_run_over_a_restart(stage: Stage) -> None:
    """The access line of a request whose round-trip line was printed by an earlier process is no attempt of its own."""
    stage.write(roundtrip(0), roundtrip(1))
    stage.look()
    stage.stop()
    assert stage.paths == ["/r/0", "/r/1"]
    stage.start()
    stage.write(line(0), line(1))
    stage.look()
    assert stage.paths == ["/r/0", "/r/1"]


def test_a_kill_while_attempts_wait(stage: Stage) -> None:
    """An attempt that waits when the process is killed is not lost."""
    stage.write(roundtrip(0))
    stage.look(SAVE_EVERY)
    stage.kill()
    stage.start()
    assert stage.look(WAIT) == ["/r/0"]


def test_a_body_that_breaks_off_late(stage: Stage) -> None:
    """What a later line says otherwise is printed as an attempt of that line, with the place of the one that it corrects."""
    stage.write(roundtrip(0))
    stage.look()
    stage.restart()
    stage.write(caddy_lines.encoded({**BROKEN, "ts": BASE + 40, "request": caddy_lines.request(0)}))
    stage.look()

    good, broken = stage.shown
    assert (good.outcome.verdict, broken.outcome.kind, broken.attempt.end) == ("good", "truncated", End.TRUNCATED)
    assert (good.amends, broken.amends) == (None, (good.generation, 0))
    assert broken.attempt.offset == len(roundtrip(0))


def test_when_round_trip_lines_stop(stage: Stage) -> None:
    """Access lines that wait until it is sure that no round-trip lines come any more wait over restarts, and come once."""
    stage.write(roundtrip(0), line(0))
    stage.look()
    for number in range(1, UNMATCHED + 1):
        stage.restart()
        stage.write(line(number))
        stage.look()

    assert stage.paths == [f"/r/{number}" for number in range(UNMATCHED + 1)]


def test_nothing_of_a_client_is_kept(stage: Stage) -> None:
    """The state holds no address of a client and no query string, and only its owner can read it."""
    stage.write(roundtrip(0), roundtrip(1), line(1), line(2))
    stage.look(SAVE_EVERY)
    stage.stop()
    kept = (stage.state / FILE).read_bytes()
    stage.start()

    assert b'"/r/0"' in kept
    assert b"192.0.2.10" not in kept
    assert b"secret" not in kept
    assert {stat.S_IMODE(path.stat().st_mode) for path in stage.state.iterdir()} == {0o600}
    assert stat.S_IMODE(stage.state.stat().st_mode) == 0o700


@pytest.mark.parametrize("broken", [b"\0" * 40, b'{"v":1,"logs":{},"rest":{"join":3}}', b'{"v":1,"lo'])
def test_a_state_that_is_broken(stage: Stage, broken: bytes) -> None:
    """A state that can't be understood is put aside and said; logs are followed from their end."""
    stage.write(line(0))
    stage.look()
    stage.stop()
    (stage.state / FILE).write_bytes(broken)
    stage.start()
    stage.write(line(1))
    stage.look()

    assert stage.paths == ["/r/0", "/r/1"]
    assert any("put aside" in news for news in stage.news)
    assert (stage.state / f"{FILE}.broken-1").read_bytes() == broken


def test_one_process_per_directory(stage: Stage) -> None:
    """Two can't keep how far they are in one place."""
    with pytest.raises(FollowStateError, match="another"):
        FollowState(stage.state)


def test_a_log_that_is_left_out_for_a_while(stage: Stage, tmp_path: Path) -> None:
    """How far a log was read stays known while others are followed."""
    stage.write(line(0))
    stage.look()
    stage.stop()
    stage.start(tmp_path / "other.log")
    stage.restart()

    assert stage.paths == ["/r/0"]
    assert any("other.log: waiting: there is no such file" in news for news in stage.news)


def test_times_of_another_day(stage: Stage) -> None:
    """A log whose times lie ahead of the clock as a whole is read; one stamp that leaps ahead is not."""
    stage.now = BASE - 5000
    stage.write(line(0), line(1), line(4000), line(2), line(3))

    assert stage.look() == ["/r/0", "/r/1", "/r/2", "/r/3"]


def docker(text: bytes, stream: str) -> bytes:
    """Wrap a line, or a part of one, as Docker does."""
    return caddy_lines.encoded({"log": text.decode(), "stream": stream, "time": "2026-11-30T00:53:21Z"})
