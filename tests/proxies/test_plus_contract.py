"""The NGINX Plus adapter keeps the contract, in both ways to take a server out, over the double."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

import pytest

from tailhealth.proxies.admin import Access
from tailhealth.proxies.nginx_plus import NginxPlus
from tests.proxies.contract import CONTRACT, OWN_LIMIT, A, B, C, Subject
from tests.proxies.plus_double import Plus, plus_api


@contextmanager
def plus_subject(how: Literal["down", "drain"], version: int) -> Iterator[Subject]:
    """Run the double that the contract is about."""
    plus = Plus({"chat": [{"server": A}, {"server": B, "max_conns": OWN_LIMIT}, {"server": C, "weight": 3}]})
    plus.versions = list(range(1, version + 1))
    with ExitStack() as stack:
        admin = stack.enter_context(plus_api(plus))
        proxy = NginxPlus(Access(admin), how)
        proxy.read()

        def edit() -> None:
            plus.upstreams["chat"][1]["weight"] = 7

        yield Subject(proxy, lambda: copy.deepcopy(plus.upstreams), edit, stack.close)


@pytest.mark.parametrize(("how", "version"), [("down", 9), ("drain", 9), ("drain", 8)])
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda one: one.__name__)
def test_plus_keeps(promise: Callable[[Subject], None], how: Literal["down", "drain"], version: int) -> None:
    """Each promise of the contract."""
    with plus_subject(how, version) as subject:
        promise(subject)
