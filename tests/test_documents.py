"""The texts for people name only what is there: files, modules that can be run, functions, places to follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("contrib/*.md")),
    *sorted(ROOT.glob("samples/*/README.md")),
]
PARTS = {"chaos_run", "curves_point", "rotation_follower"}
"""Processes that a bench starts."""
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: str(one.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    """A relative link is one to a file or a folder of the project; one within the page is to a heading of it."""
    text = document.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in re.findall(r"^#+ .*$", text, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, heading = target.partition("#")
        assert not path or "://" in path or (document.parent / path).exists(), target
        assert path or heading in headings, target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: str(one.relative_to(ROOT)))
def test_modules_that_can_be_run_are_there(document: Path) -> None:
    """`python -m tests.x` names a file of ours."""
    for name in re.findall(r"python3? -m (tests[.\w]*)", document.read_text(encoding="utf-8")):
        assert (ROOT / f"{name.replace('.', '/')}.py").exists(), name


def test_the_table_of_the_code_is_not_stale() -> None:
    """Each file and folder that it names exists, and each function stands in the file before it."""
    found = re.findall(r"`([a-z]+/(?!/)[\w/*.]*)`((?: \([^)]*\))?)", CONTRIBUTING)
    assert len(found) > 20
    for name, functions in found:
        places = [path for base in (ROOT, ROOT / "tailhealth") for path in base.glob(name.rstrip("/"))]
        assert places, name
        for function in re.findall(r"`(\w+)`", functions):
            assert re.search(rf"^ *def {function}\(", places[0].read_text(encoding="utf-8"), re.MULTILINE), function


def test_every_bench_is_listed() -> None:
    """A bench that nobody knows of is not run."""
    runnable = {
        path.stem
        for path in (ROOT / "tests" / "bench").glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    }
    listed = set(re.findall(r"python -m tests\.bench\.(\w+)", CONTRIBUTING))

    assert listed <= runnable
    assert runnable - listed == PARTS
