"""nginx's configuration language as words with their places, so that a file can be changed without touching the rest of it."""

from __future__ import annotations

import re
from typing import NamedTuple

BLANK = " \t\r\n"
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_LETTERS = {"t": "\t", "r": "\r", "n": "\n"}
_ITSELF = frozenset("\"'\\")


class Broken(ValueError):  # noqa: N818 - it tells of the text, not of us
    """The text is not of nginx's language; the message names the line."""


class Word(NamedTuple):
    """One word of the text, with its quotes."""

    value: str
    """What nginx takes it for: without quotes and escapes."""
    start: int
    end: int


class Directive(NamedTuple):
    """A directive that ends with `;`."""

    words: tuple[Word, ...]
    end: int
    """Where its `;` stands."""

    @property
    def name(self) -> str:
        """Its first word."""
        return self.words[0].value

    @property
    def start(self) -> int:
        """Where its first word begins."""
        return self.words[0].start


def directives(text: str) -> tuple[Directive, ...]:
    """Read a text that holds simple directives and comments, as nginx reads it.

    Raises:
        Broken: It holds a block, or ends in the middle of a directive.
    """
    found: list[Directive] = []
    words: list[Word] = []
    position = 0
    while position < len(text):
        sign = text[position]
        if sign in BLANK:
            position += 1
        elif sign == "#":
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif sign == ";":
            if not words:
                raise Broken(f"line {_line(text, position)}: unexpected `;`")
            found.append(Directive(tuple(words), position))
            words = []
            position += 1
        elif sign in "{}":
            raise Broken(f"line {_line(text, position)}: unexpected `{sign}`: only `server` lines and comments may stand here")
        else:
            words.append(_word(text, position))
            position = words[-1].end
    if words:
        raise Broken(f"line {_line(text, len(text))}: unexpected end of the file, a `;` is missing")
    return tuple(found)


def _word(text: str, start: int) -> Word:
    """Read one word. A quote counts only where the word begins, a backslash takes the sign after it along."""
    quote = text[start] if text[start] in "\"'" else ""
    position = start + len(quote)
    while position < len(text):
        sign = text[position]
        if sign == "\\":
            position += 2
            continue
        if sign == quote:
            return _quoted(text, start, position)
        if not quote and (sign in BLANK or sign == ";" or (sign == "{" and text[position - 1] != "$")):
            break
        position += 1
    if quote or position > len(text):
        raise Broken(f"line {_line(text, len(text))}: unexpected end of the file in {text[start : start + 30]!r}")
    return Word(_plain(text[start:position]), start, position)


def _quoted(text: str, start: int, position: int) -> Word:
    end = position + 1
    if end < len(text) and text[end] not in BLANK and text[end] not in ";{)":
        raise Broken(f"line {_line(text, position)}: unexpected {text[end]!r} after a quote")
    return Word(_plain(text[start + 1 : position]), start, end)


def _plain(text: str) -> str:
    """Take the escapes away that nginx takes away; it leaves a backslash before any other sign."""

    def one(found: re.Match[str]) -> str:
        sign = found[1]
        return _LETTERS.get(sign) or (sign if sign in _ITSELF else found[0])

    return _ESCAPED.sub(one, text) if "\\" in text else text


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
