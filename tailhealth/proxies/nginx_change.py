"""Changing include files so that nginx never stands without a working one: tested, loaded and seen to be, or taken back.

The order of a change is what keeps it so: nginx tests its configuration as it stands; a copy of the file is kept beside it; the
new file takes its place in one step; nginx tests again, loads, and is seen to have loaded; the copy goes. Whoever finds the
copy later knows that the change was cut off, and brings it to an end or takes it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from tailhealth.proxies.base import Conflict, Fatal, ProxyError, Retryable, Unloadable
from tailhealth.proxies.nginx_files import File
from tailhealth.proxies.nginx_include import ENCODING, Include, parse
from tailhealth.proxies.nginx_reload import Setup, Verdict, asked, refused, reload, runs, unloadable
from tailhealth.proxies.nginx_words import Broken


class Rewrite(msgspec.Struct, frozen=True):
    """A file that is to change."""

    file: File
    old: bytes
    new: bytes


def parsed(file: File, text: bytes) -> Include:
    """Read what an include file says.

    Raises:
        Retryable: nginx would not read it: it may be on its way.
    """
    try:
        return parse(text.decode(ENCODING))
    except Broken as error:
        raise Retryable(f"{file.path}: {error}") from error


def rewritten(setup: Setup, rewrites: Sequence[Rewrite]) -> str:
    """Replace files and let nginx load them, or leave them as they are; tell what happened, for the journal.

    Raises:
        Conflict: Someone else changed a file meanwhile.
        Unloadable: nginx does not take its configuration for reasons of its own; the old files stand.
        Refused: It does not take the change; the old files are back.
        Retryable: Not known to be done; `heal` brings it to an end.
        Forbidden, Fatal: As they say.
    """
    runs(setup)
    verdict = asked(setup)
    if not verdict.good:
        raise unloadable(verdict, "nginx does not take its configuration as it stands, and nothing was changed")
    _replace(rewrites)
    verdict = asked(setup)
    if not verdict.good:
        _undo(rewrites)
        raise refused(verdict, "nginx does not take the change, and the old file is back")
    try:
        said = reload(setup)
    except (Fatal, Unloadable):
        _undo(rewrites)
        raise
    for one in rewrites:
        one.file.done()
    return said


def _replace(rewrites: Sequence[Rewrite]) -> None:
    """Put the new files in their places, unless the operator was faster."""
    for one in rewrites:
        one.file.keep(one.old)
    for index, one in enumerate(rewrites):
        if one.file.read() != one.old:
            _undo(rewrites[:index])
            for other in rewrites[index:]:
                other.file.done()
            raise Conflict(f"{one.file.path} was changed by someone else just now")
        one.file.replace(one.new)


def _undo(rewrites: Sequence[Rewrite]) -> None:
    """Put the old files back, but for those that someone else has written since."""
    for one in rewrites:
        if one.file.read() == one.new:
            one.file.go_back()
        one.file.done()


def heal(setup: Setup, files: Iterable[File]) -> None:
    """Bring a change that was cut off to an end: forward if nginx takes it, else back.

    Raises:
        Unloadable: nginx takes its configuration neither with the new files nor with the old ones.
        Retryable, Forbidden, Refused, Fatal: As they say.
    """
    cut = []
    for file in dict.fromkeys(files):
        old = file.interrupted()
        if old is None:
            file.tidy()
            continue
        new = file.read()
        if new == old or _own(file, new) != _own(file, old):
            # It was not begun, or the operator has written the file since: his word stands.
            file.done()
        else:
            cut.append(Rewrite(file, old, new))
    if not cut:
        return
    if not asked(setup).good:
        verdict = _tried_back(setup, cut)
        if not verdict.good:
            raise unloadable(verdict, "a change was cut off, and nginx does not take its configuration before or after it")
    reload(setup)
    for one in cut:
        one.file.done()


def _tried_back(setup: Setup, cut: Sequence[Rewrite]) -> Verdict:
    """Try the old files; if nginx takes them no better than the new ones, the fault is elsewhere."""
    for one in cut:
        one.file.replace(one.old)
    verdict = asked(setup)
    if not verdict.good:
        for one in cut:
            one.file.replace(one.new)
    return verdict


def _own(file: File, text: bytes) -> str:
    try:
        return parsed(file, text).own
    except ProxyError:
        return text.decode(ENCODING)
