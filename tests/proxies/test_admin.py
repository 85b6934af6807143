"""HTTP to an admin interface that is down, slow, hanging or none: each in plain words and within its time."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tailhealth.proxies.admin import Access, Admin
from tailhealth.proxies.base import Change, Conflict, CutOff, Fatal, Forbidden, ProxyError, Refused, Retryable
from tailhealth.proxies.caddy import Caddy
from tests.proxies.scripted import answer, scripted

if TYPE_CHECKING:
    from pathlib import Path

HANDLER: dict[str, Any] = {"handler": "reverse_proxy", "upstreams": [{"dial": "a:1"}, {"dial": "b:1"}]}
CONFIG = {"apps": {"http": {"servers": {"s": {"routes": [{"handle": [HANDLER]}]}}}}}


def test_a_request_carries_what_caddy_wants_and_nothing_else() -> None:
    """JSON by name, our extra headers, and neither `Origin` nor `Sec-Fetch-*`, which switch origin checks on (case 106)."""
    with scripted(answer(200, b"{}", b'Etag: "/x 1"\r\n')) as (admin, server):
        got = Admin(Access(admin, headers=(("X-Token", "secret"),))).call("PATCH", "/config/x", b"{}", {"If-Match": '"/x 0"'})
    assert (got.status, got.body, got.etag) == (200, b"{}", '"/x 1"')
    head = server.requests[0].lower()
    assert head.startswith(b"patch /config/x http/1.1\r\n")
    assert b"content-type: application/json\r\n" in head
    assert b'if-match: "/x 0"\r\n' in head
    assert b"x-token: secret\r\n" in head
    assert b"origin:" not in head
    assert b"sec-fetch" not in head


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([b"hang"], "no answer in time"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"hang"], "no answer in time"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"drip"], "no answer in time"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", b"hang"], "no answer in time"),
        ([], "closed without an answer"),
        ([b"reset"], "reset"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"], "half|IncompleteRead|incomplete"),
        ([b"SSH-2.0-x\r\n"], "."),
    ],
)
def test_every_way_not_to_answer_is_retryable(script: list[bytes], words: str) -> None:
    """Hanging before, in or after the header, dripping, closing and resetting all end in time, as an unknown outcome."""
    with scripted(script) as (admin, _), pytest.raises(Retryable, match=words):
        Admin(Access(admin, timeout=0.3)).call("GET", "/config/")


def test_nobody_there() -> None:
    """A refused connection is said in the system's words, over TCP and over a socket that is missing."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(Retryable, match="Connection refused"):
            Admin(Access(f"http://127.0.0.1:{probe.getsockname()[1]}")).call("GET", "/")
    with pytest.raises(Retryable, match="No such file or directory"):
        Admin(Access("unix//nonexistent/admin.sock")).call("GET", "/")


def test_a_unix_socket(tmp_path: Path) -> None:
    """A path with blanks and percent signs reaches its socket, with a host that Caddy takes."""
    with scripted(answer(200, b"{}"), unix=tmp_path / "a %2F.sock") as (admin, server):
        assert Admin(Access(admin)).call("GET", "/config/").body == b"{}"
    assert b"\r\nhost: 127.0.0.1\r\n" in server.requests[0].lower()
    assert server.requests[0].startswith(b"GET /config/ ")


def test_a_certificate_that_is_missing_names_its_file() -> None:
    """A CA file that is not there is a matter of our own configuration."""
    with pytest.raises(Fatal, match=r"nowhere\.pem.*check `ca`"):
        Admin(Access("https://127.0.0.1:1", ca="/nowhere.pem")).call("GET", "/")


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (401, "no", Forbidden),
        (403, "host not allowed: caddy:2019", Forbidden),
        (404, "404 page not found", Fatal),
        (500, "x", Retryable),
        (502, "bad gateway", Retryable),
    ],
)
def test_reading_answers_that_are_no_success(status: int, said: str, kind: type[ProxyError]) -> None:
    """The proxy's own words are in the error, whose kind says what may help."""
    with (
        scripted(answer(status, b'{"error":"%s"}' % said.encode())) as (admin, _),
        pytest.raises(ProxyError, match=said) as caught,
    ):
        Caddy(Access(admin)).read()
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (412, "If-Match header did not match current config hash", Conflict),
        (500, "loading new config: provision", Refused),
        (500, "[/config/apps/x/7] array index out of bounds: 7", Conflict),
        (400, "indexing config: duplicate ID", Refused),
        (400, "invalid traversal path at: config/apps", Conflict),
        (403, "client is not allowed to access from origin ''", Forbidden),
        (503, "unavailable", Retryable),
    ],
)
def test_changing_answers_that_are_no_success(status: int, said: str, kind: type[ProxyError]) -> None:
    """A refused configuration is not to be tried again, a stale one is to be read again."""
    handler = answer(200, orjson.dumps(HANDLER), b'Etag: "/h 1"\r\n')
    refusal = answer(status, orjson.dumps({"error": said}))
    with scripted(answer(200, orjson.dumps(CONFIG)), handler, refusal) as (admin, server):
        caddy = Caddy(Access(admin))
        (place,) = caddy.read().places
        with pytest.raises(ProxyError) as caught:
            caddy.apply([Change(place, place.entries[1:])])
    assert type(caught.value) is kind
    assert said in str(caught.value)
    assert b'if-match: "/h 1"\r\n' in server.requests[2].lower()
    assert server.requests[2].endswith(b'{"handler":"reverse_proxy","upstreams":[{"dial":"b:1"}]}')


def test_what_is_no_admin_interface_says_so() -> None:
    """A page of HTML is not a configuration."""
    with scripted(answer(200, b"<html>")) as (admin, _), pytest.raises(Fatal, match="not Caddy's admin interface"):
        Caddy(Access(admin)).read()


def test_a_poll_that_fails_is_a_value() -> None:
    """In-flight counts that can't be read are None, with the reason; nothing is raised."""
    with scripted(answer(200, b"[]"), answer(200, b"process_start_time_seconds 5\n")) as (admin, _):
        load = Caddy(Access(admin)).load()
    assert (load.counts, load.process) == ({}, "5")
    with scripted(answer(200, b"{}"), answer(200, b"")) as (admin, _):
        load = Caddy(Access(admin)).load()
    assert load.counts is None
    assert load.problem


def test_what_is_asked_while_caddy_restarts_its_listener_is_asked_again() -> None:
    """One reset of a reading is normal; a second one, or one of a change, is told."""
    with scripted([b"reset"], answer(200, b"null\n")) as (admin, server):
        assert Caddy(Access(admin)).read().places == ()
        assert len(server.requests) == 2
    with scripted([b"reset"], [b"reset"]) as (admin, _), pytest.raises(CutOff):
        Caddy(Access(admin)).read()
    with scripted([b"hang"], answer(200, b"null\n")) as (admin, server):
        with pytest.raises(Retryable) as caught:
            Caddy(Access(admin, timeout=0.3)).read()
        assert not isinstance(caught.value, CutOff)
        assert len(server.requests) == 1
