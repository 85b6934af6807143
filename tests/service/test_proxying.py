"""What a proxy is told of our state: why an upstream is out, and what is ours."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tailhealth.config.loading import parse
from tailhealth.proxies.base import Entry, Fatal, Forbidden, Refused, Retryable, Unloadable, UpstreamState
from tailhealth.proxies.caddy import Caddy
from tailhealth.proxies.nginx import Nginx
from tailhealth.proxies.nginx_plus import NginxPlus
from tailhealth.service.conditions import Kind, kind_of
from tailhealth.service.proxying import is_ours, proxy_of, why
from tailhealth.service.state import Contents, Kept, Listing, StateError, Wish, Wished

A, B = Entry("10.0.0.1:80", {}), Entry("10.0.0.2:80", {})
BOTH: Listing = ((0, None), (1, None))
ONLY_B: Listing = ((1, None),)
UNTIL = 1_796_000_000.0
"""2026-11-30T00:53:20Z."""


class Remembered(NamedTuple):
    """A state file."""

    contents: Contents


def kept(left: Listing, aim: Listing | None) -> Contents:
    """Remember a block with these lists."""
    return Contents("t", kept=(Kept("chat", None, "p", (A, B), left, aim),))


@pytest.mark.parametrize(
    ("left", "aim", "ours"),
    [
        (ONLY_B, None, True),
        (BOTH, None, False),
        (BOTH, ONLY_B, True),
        (ONLY_B, BOTH, True),
        (((0, 1), (1, None)), None, False),
        ((), None, True),
    ],
)
def test_what_is_ours(left: Listing, aim: Listing | None, ours: bool) -> None:
    """Out by the list that was left, or by that of a change whose outcome is not known."""
    contents = kept(left, aim)
    assert is_ours(contents, "chat", A.address) is ours
    assert is_ours(contents, "other", A.address) is False
    assert is_ours(Contents("t"), "chat", A.address) is False


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        (Wish(UpstreamState.OUT, 1.0, UNTIL, "ratio"), "ejected until 2026-11-30T00:53:20Z: ratio"),
        (Wish(UpstreamState.OUT, 1.0, None, "new driver"), "ejected until readmitted by hand: new driver"),
        (Wish(UpstreamState.LIMITED, 1.0, max_in_flight=2), "on probation, 2 at a time"),
    ],
)
def test_why(wish: Wish, text: str) -> None:
    """The decision's reason and its end; another pool's wish for the same address is not meant."""
    wished = (Wished("other", A.address, Wish(UpstreamState.OUT, why="another")), Wished("p", A.address, wish))
    contents = Contents("t", kept=kept(ONLY_B, None).kept, wished=wished)
    assert why(contents, "chat", A.address) == text
    assert why(contents, "chat", B.address) == ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Caddy),
        ('kind = "nginx"', Nginx),
        ('kind = "nginx-plus"\nadmin = "http://127.0.0.1:8080"\ndrain = true', NginxPlus),
    ],
)
def test_the_proxy_of_a_configuration(text: str, kind: type) -> None:
    """Each kind has its adapter."""
    assert isinstance(proxy_of(parse(f"[proxy]\n{text}".encode()), Remembered(Contents("t"))), kind)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unloadable("x"), Kind.UNLOADABLE),
        (Retryable("x"), Kind.ADMIN_UNREACHABLE),
        (Forbidden("x"), Kind.FORBIDDEN),
        (Refused("x"), Kind.NO_PROXY),
        (Fatal("x"), Kind.NO_PROXY),
        (StateError("x"), Kind.STATE_UNWRITABLE),
    ],
)
def test_errors_have_conditions(error: Exception, kind: Kind) -> None:
    """Each by the narrowest word for it."""
    assert kind_of(error) is kind
