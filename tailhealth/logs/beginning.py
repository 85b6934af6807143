"""Where a follower begins that has no checkpoint."""

from __future__ import annotations

from tailhealth.logs.disk import Disk, OpenFile, Stat
from tailhealth.logs.family import Member, MovedError, oldest_first, unpacked_blocks
from tailhealth.logs.following import Begin, Since, Start
from tailhealth.logs.generation import CONTEXT_BYTES, Position, digest
from tailhealth.logs.lines import MAX_LINE, LineCutter
from tailhealth.logs.opened import Opened
from tailhealth.logs.start import first_since, line_start_before

_MOST_GENERATIONS = 16
_MOST_PACKED = 8 * 1024 * 1024
"""A compressed generation larger than this, in packed bytes, is not unpacked to look for a time."""


def starting_point(
    start: Start, opened: Opened, first: Stat | None, members: list[Member], disk: Disk
) -> tuple[list[Position], int]:
    """Turn a start into positions in older generations, and one in the file at the log's path.

    Args:
        start: What was asked for.
        opened: The file at the log's path.
        first: What stood at the path when the follower looked first; None: nothing.
        members: The older generations.
        disk: The file system.

    Raises:
        MovedError: A generation changed its name meanwhile.
        OSError: A file can't be read.
    """
    if isinstance(start, Begin) or first is None:
        return [], 0
    if not isinstance(start, Since):
        if (first.device, first.inode) != opened.inode:
            return [], 0
        return [], line_start_before(opened.file, min(first.size, opened.file.stat().size))
    offset = first_since(opened.file, start.time, start.time_of)
    if offset:
        return [], offset
    older: list[Position] = []
    seen = {opened.fingerprint}
    for member in reversed(oldest_first(members)):
        if member.fingerprint in seen or len(older) == _MOST_GENERATIONS:
            continue
        seen.add(member.fingerprint)
        position = _position(member, start, disk)
        if position is None:
            break
        older.insert(0, position)
        if position.offset:
            break
    return older, 0


def _position(member: Member, start: Since, disk: Disk) -> Position | None:
    """Where the time begins in an older generation; None if it is all older, or can't be looked into."""
    if member.packing is not None and member.stat.size > _MOST_PACKED:
        return None
    try:
        file = disk.open(member.path)
    except FileNotFoundError as error:
        raise MovedError(member.path) from error
    except PermissionError:
        return None
    try:
        found = _first_plain(file, start) if member.packing is None else _first_packed(file, start)
    finally:
        file.close()
    if found is None:
        return None
    offset, context = found
    return Position(*member.inode, member.fingerprint, digest(context), offset, member.stat.modified, member.path)


def _first_plain(file: OpenFile, start: Since) -> tuple[int, bytes] | None:
    offset = first_since(file, start.time, start.time_of)
    if offset == file.stat().size:
        return None
    size = min(offset, CONTEXT_BYTES)
    return offset, file.read_at(offset - size, size)


def _first_packed(file: OpenFile, start: Since) -> tuple[int, bytes] | None:
    cutter, raw = LineCutter(), b""
    for block in unpacked_blocks(file):
        raw += block
        pieces = cutter.feed(block)
        base = cutter.position - len(raw)
        for piece in pieces:
            at = piece.offset
            for line in piece.data.split(b"\n")[:-1]:
                time = start.time_of(line)
                if time is not None and time >= start.time:
                    return at, raw[max(0, at - base - CONTEXT_BYTES) : at - base]
                at += len(line) + 1
        raw = raw[-(CONTEXT_BYTES + min(MAX_LINE, cutter.position - cutter.offset)) :]
    return None
