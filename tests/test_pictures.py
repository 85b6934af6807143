"""The pictures of the README are what the program draws, and ask nothing of the network."""

from __future__ import annotations

import re
import struct
from html import unescape

from tests.pictures import HEIGHT, REPORT, ROOT, TOP, top


def words(svg: str) -> list[str]:
    """Return what can be read in an SVG, line by line."""
    return [unescape(one).replace("\xa0", " ").strip() for one in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def test_the_picture_of_top() -> None:
    """It shows what `top` shows now; how the SVG is written is the library's concern."""
    stored = TOP.read_text(encoding="utf-8")

    assert words(stored) == words(top())
    assert any("10.0.7.13:11434 ejected for" in one for one in words(stored))
    assert re.findall(r'(?:href|src|url\()\s*=?\s*"?(?:https?:)?//', stored) == []


def test_the_picture_of_the_report() -> None:
    """It is a PNG of the size that the README has room for."""
    data = REPORT.read_bytes()

    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (1280, HEIGHT)


def test_they_are_those_of_the_readme() -> None:
    """Each picture is shown, with a text for those who can't see it, and no other is."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", readme))

    assert sorted(shown.values()) == sorted(str(one.relative_to(ROOT)) for one in (TOP, REPORT))
