"""Which of the proxy's logs is the one that we read, and what is left out of it."""

from __future__ import annotations

import pytest

from tailhealth.config import STDIN
from tailhealth.proxies.base import LogOutput
from tailhealth.service.thinning import thinned

WELL = LogOutput("well", "/var/log/a.log")
ERRORS = LogOutput("errors", "/var/log/b.log", level="ERROR")
SAMPLED = LogOutput("sampled", "/var/log/c.log", sampled=True)
CONSOLE = LogOutput("default", "")


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("/var/log/a.log", []),
        ("/var/log/b.log", ["level_filter"]),
        ("/var/log/../log/b.log", ["level_filter"]),
        ("/srv/mounted/c.log", ["sampling"]),
        ("/var/log/other.log", []),
        (STDIN, []),
    ],
)
def test_the_log_behind_a_path(path: str, codes: list[str]) -> None:
    """It is found by its path, or by its name where it is mounted elsewhere; of others nothing is said."""
    assert list(thinned(path, [WELL, ERRORS, SAMPLED, CONSOLE])) == codes


def test_the_same_path_goes_before_the_same_name() -> None:
    """Two files of one name in two folders are told apart."""
    other = LogOutput("other", "/srv/a.log", sampled=True)

    assert thinned("/var/log/a.log", [other, WELL]) == {}
    assert list(thinned("/srv/a.log", [other, WELL])) == ["sampling"]


def test_standard_input_is_what_goes_to_the_console() -> None:
    """If all of that is thinned, it is; a container's own log file is the same where the proxy writes no file."""
    thin = LogOutput("default", "", level="WARN", sampled=True)

    assert list(thinned(STDIN, [thin])) == ["level_filter", "sampling"]
    assert list(thinned("/var/lib/containers/x-json.log", [thin])) == ["level_filter", "sampling"]
    assert thinned(STDIN, [thin, CONSOLE]) == {}


def test_a_proxy_that_tells_nothing() -> None:
    """Without its configuration nothing is said."""
    assert thinned("/var/log/a.log", []) == {}
