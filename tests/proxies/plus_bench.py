"""The NGINX Plus adapter over a double with one upstream block of three servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Place
from tailhealth.proxies.nginx_plus import NginxPlus
from tests.proxies.contract import A, B, C, change
from tests.proxies.plus_double import Plus, plus_api


@contextmanager
def running(plus: Plus, **options: Any) -> Iterator[NginxPlus]:
    """Run a double with an adapter for it."""
    with plus_api(plus) as admin:
        yield NginxPlus(Access(admin), **options)


def chat(**more: Any) -> Plus:
    """Make a double with one upstream block of three."""
    return Plus({"chat": [{"server": A}, {"server": B, **more}, {"server": C}]})


def place(proxy: NginxPlus) -> Place:
    """Read the one place."""
    (one,) = proxy.read().places
    return one


def out(proxy: NginxPlus, *addresses: str) -> None:
    """Take these upstreams out, and all others back."""
    proxy.apply([change(place(proxy), place(proxy), frozenset(addresses))])
