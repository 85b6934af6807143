"""What the keys of `top` do."""

from __future__ import annotations

from tailhealth.views.frame import Look

ESCAPE, ENTER, BACKSPACE = "\x1b", ("\r", "\n"), ("\x7f", "\b")
LONGEST_FILTER = 60


def press(look: Look, key: str) -> Look | None:
    """Return how things are shown after a key was pressed; None: to quit. Keys without a meaning change nothing."""
    if look.typing:
        return _typed(look, key)
    match key:
        case "q" | "Q":
            return None
        case "p":
            return look._replace(paused=not look.paused)
        case "s":
            return look._replace(sort=look.sort.following)
        case "f" | "/":
            return look._replace(typing=True, help=False)
        case "?" | "h":
            return look._replace(help=not look.help)
        case "\x1b":
            return look._replace(filter="", help=False)
        case _:
            return look


def _typed(look: Look, key: str) -> Look:
    if key == ESCAPE:
        return look._replace(filter="", typing=False)
    if key in ENTER:
        return look._replace(typing=False)
    if key in BACKSPACE:
        return look._replace(filter=look.filter[:-1])
    if key.isprintable() and len(look.filter) < LONGEST_FILTER:
        return look._replace(filter=look.filter + key)
    return look
