"""Notes of the configuration that concern a pool."""

from __future__ import annotations

from tailhealth.config import parse
from tailhealth.config.notes import Note, notes_for

FILE = b"""
note = "two racks"
[proxy]
note = "rootless, so a socket"
[[log]]
path = "/var/log/a.log"
[[log]]
path = "/var/log/b.log"
note = "the second rack"
[bad]
note = "answers take minutes"
[[bad.route]]
path = "/health"
ignore = true
note = "the old checker asks every second"
[guard]
protected = ["a:1"]
note = "a:1 is reserved"
[eject]
for = "20s"
[pool.chat]
upstreams = ["a:1", "b:1"]
note = "the big ones"
[pool.chat.guard]
min_serving = 2
[pool.chat.eject]
note = "they load slowly"
[pool.embed]
upstreams = ["c:1"]
note = "another pool"
[pool.embed.probation]
note = "of no concern"
"""


def test_of_a_pool_with_a_table() -> None:
    """Those of the file, of its own tables, and those that its tables inherit, each with where it stands."""
    assert notes_for(parse(FILE), "chat") == (
        Note("", "two racks"),
        Note("proxy", "rootless, so a socket"),
        Note("log[1]", "the second rack"),
        Note("pool.chat", "the big ones"),
        Note("bad", "answers take minutes"),
        Note("pool.chat.eject", "they load slowly"),
        Note("guard", "a:1 is reserved"),
        Note("bad.route[0]", "the old checker asks every second"),
    )


def test_of_a_pool_without_a_table() -> None:
    """Those of the top alone."""
    assert [note.table for note in notes_for(parse(FILE), "other")] == ["", "proxy", "log[1]", "bad", "guard", "bad.route[0]"]


def test_none() -> None:
    """Nothing is made up, and a rule that is off has no note."""
    assert notes_for(parse(b"probation = false"), "x") == ()
