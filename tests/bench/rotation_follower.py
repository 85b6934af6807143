"""The follower's side of the rotation torture: a process that is stopped and killed at any moment.

Writes one line per delivered log line to its output, `<fingerprint> <offset> <number>`, one `gap` line per gap, and an `up`
line when it has looked for the first time. Saves its checkpoint once a second and when it is stopped.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

from watchdog.observers.api import BaseObserver

from tailhealth.logs.checkpoint import CheckpointFile
from tailhealth.logs.follow import Follower
from tailhealth.logs.following import Begin
from tailhealth.logs.source import Chunk
from tailhealth.logs.waker import Waker

SAVE_EVERY = 1.0


def main(log: str, output: str, state: str, events: str) -> None:
    """Follow until SIGTERM."""
    saved = CheckpointFile(Path(state))
    follower = Follower(log, checkpoint=saved.load().logs.get(log), start=Begin(), grace=2.0)
    waker = Waker([log]) if events == "events" else Waker([log], observer=_no_events)
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        waker.wake()

    signal.signal(signal.SIGTERM, stop)
    saved_at = -SAVE_EVERY  # at once: until then nothing is known of what is older
    gaps = 0
    with Path(output).open("a", encoding="ascii") as out:
        _tell(out, follower.poll())
        out.write(f"up {time.monotonic()}\n")
        while True:
            last = bool(stopped)
            _tell(out, follower.poll())
            fresh = follower.counts.gaps - gaps
            gaps += fresh
            out.writelines(f"gap {gap.kind} {gap.fingerprint} {gap.offset}\n" for gap in list(follower.gaps)[-fresh:] if fresh)
            out.flush()
            if last or time.monotonic() - saved_at >= SAVE_EVERY:
                saved.save({log: follower.checkpoint()})
                saved_at = time.monotonic()
            if last:
                break
            if not follower.more:
                waker.wait(0.1)
    follower.close()
    waker.close()


def _tell(out: TextIO, chunks: list[Chunk]) -> None:
    for chunk in chunks:
        offset = chunk.offset
        for line in chunk.data.splitlines(keepends=True):
            number = json.loads(line)["number"]
            out.write(f"{chunk.file.fingerprint} {offset} {number}\n")
            offset += len(line)


def _no_events() -> BaseObserver:
    raise OSError(28, "No space left on device")


if __name__ == "__main__":
    main(*sys.argv[1:])
