"""Whose doing it is that a server of NGINX Plus is out: ours, the operator's, or that of a load of his configuration."""

from __future__ import annotations

import pytest

from tailhealth.proxies.base import Conflict
from tests.proxies.contract import A, B, C, standing
from tests.proxies.plus_bench import chat, out, place, running


def test_a_load_loses_changes_and_is_seen() -> None:
    """What was out is read as serving, with another process identity; it can be taken out again."""
    plus = chat()
    with running(plus) as proxy:
        out(proxy, B)
        before, token = proxy.load().process, proxy.read().token
        plus.reload()
        assert standing(place(proxy)) == {A: None, B: None, C: None}
        assert proxy.load().process != before
        assert proxy.read().token != token
        out(proxy, B)
        assert standing(place(proxy))[B] == "out"


def test_a_load_while_it_is_read() -> None:
    """Servers of two loads in one reading would be taken for the operator's hand: it is read again."""
    plus = chat()
    with running(plus) as proxy:
        first = place(proxy).generation
        plus.before_servers.append(plus.reload)
        with pytest.raises(Conflict, match="while that was read"):
            proxy.read()
        assert place(proxy).generation != first


def test_what_was_ours_is_the_operators_once_he_brought_it_back() -> None:
    """He brings it back, then takes it out himself: from then on it is held down, not out."""
    plus = chat()
    with running(plus) as proxy:
        out(proxy, B)
        assert standing(place(proxy))[B] == "out"
        plus.upstreams["chat"][1]["down"] = False
        assert standing(place(proxy))[B] is None
        plus.upstreams["chat"][1]["down"] = True
        assert (standing(place(proxy))[B], place(proxy).entries[1].held_down) == (None, True)


def test_a_change_that_arrives_late_is_ours() -> None:
    """What was sent and not yet seen is recognised when it is made after all."""
    plus = chat()
    with running(plus) as proxy:
        out(proxy, B)
        plus.upstreams["chat"][1]["down"] = False
        assert standing(place(proxy))[B] is None
        plus.upstreams["chat"][1]["down"] = True
        assert standing(place(proxy))[B] == "out"


def test_what_the_operator_took_out_is_his() -> None:
    """A server that is down by others is held down, not out, and stays so whatever we bring back."""
    plus = chat(down=True)
    with running(plus) as proxy:
        (_, entry, _) = place(proxy).entries
        assert (entry.out, entry.held_down) == (False, True)
        out(proxy, A)
        out(proxy)
        assert plus.upstreams["chat"][1]["down"] is True
        plus.upstreams["chat"][2]["drain"] = True
        assert [one.held_down for one in place(proxy).entries] == [False, True, True]
        assert proxy.load().held_down == {B, C}


def test_the_state_file_knows_what_was_out_before_a_restart() -> None:
    """A new adapter is told what is ours; what it brings back is the operator's again."""
    plus = chat()
    with running(plus) as proxy:
        out(proxy, B)
    with running(plus, ours=lambda block, address: (block, address) == ("chat", B)) as proxy:
        assert standing(place(proxy))[B] == "out"
        assert not place(proxy).entries[1].held_down
        out(proxy)
        plus.upstreams["chat"][1]["down"] = True
        assert (standing(place(proxy))[B], place(proxy).entries[1].held_down) == (None, True)
