"""One spelling per upstream (DESIGN section 1, cases 32 and 45)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.address import canonical

SPELLINGS = [
    ("10.9.0.1:8080", "10.9.0.1:8080"),
    ("tcp/10.9.0.1:8080", "10.9.0.1:8080"),
    ("TCP/10.9.0.1:8080", "10.9.0.1:8080"),
    ("tcp4/10.9.0.1:8080", "10.9.0.1:8080"),
    ("tcp6/[::1]:8080", "[::1]:8080"),
    ("udp/10.9.0.1:53", "10.9.0.1:53"),
    ("udp6/[::1]:53", "[::1]:53"),
    ("10.9.0.1", "10.9.0.1:80"),
    ("10.9.0.1:080", "10.9.0.1:80"),
    ("APP1.internal:8080", "app1.internal:8080"),
    ("app_1-x.internal", "app_1-x.internal:80"),
    ("localhost", "localhost:80"),
    ("[2001:db8::7]:9000", "[2001:db8::7]:9000"),
    ("tcp/[2001:DB8:0::0007]:9000", "[2001:db8::7]:9000"),
    ("[::1]", "[::1]:80"),
    ("::1", "[::1]:80"),
    ("[fe80::1%eth0]:80", "[fe80::1%eth0]:80"),
    ("/run/app/a.sock", "unix//run/app/a.sock"),
    ("unix//run/app/a.sock", "unix//run/app/a.sock"),
    ("unix+h2c//run/app/a.sock", "unix//run/app/a.sock"),
    ("unixpacket//run/App/a.sock", "unix//run/App/a.sock"),
    ("unix:/run/app/a.sock", "unix//run/app/a.sock"),
    ("unix:///run/app/a.sock", "unix//run/app/a.sock"),
    ("unix/@name", "unix/@name"),
    ("@name", "unix/@name"),
    ("http://10.9.0.1:11434", "10.9.0.1:11434"),
    ("http://app.internal/", "app.internal:80"),
    ("https://App.internal", "app.internal:443"),
    ("h2c://[::1]:9000", "[::1]:9000"),
]


@pytest.mark.parametrize(("text", "expected"), SPELLINGS)
def test_spelling(text: str, expected: str) -> None:
    """Each spelling that a proxy, a log or an operator uses has its one canonical form, which is its own."""
    assert canonical(text) == expected
    assert canonical(expected) == expected


def test_caddy_spellings_are_four_upstreams() -> None:
    """Case 45: eight logged spellings are four upstreams, and they are those of the configuration."""
    dials = {"10.9.0.1:8080", "unix//run/app/a.sock", "[2001:db8::7]:9000", "app1.internal:8080"}
    logged = [
        "10.9.0.1:8080",
        "tcp/10.9.0.1:8080",
        "/run/app/a.sock",
        "unix//run/app/a.sock",
        "[2001:db8::7]:9000",
        "tcp/[2001:db8::7]:9000",
        "unix+h2c//run/app/a.sock",
        "APP1.internal:8080",
    ]
    assert {canonical(one) for one in logged} == {canonical(one) for one in dials} == dials


@pytest.mark.parametrize(("text", "bare"), [("10.9.0.1", "10.9.0.1"), ("Shop_Pool", "shop_pool"), ("::1", "[::1]")])
def test_without_default_port(text: str, bare: str) -> None:
    """Asked for no default port, a host without one stays bare: a log that names only the host is ambiguous (case 44)."""
    assert canonical(text, port="") == bare
    assert canonical("10.9.0.1:80", port="") == "10.9.0.1:80"
    assert canonical(f"http://{bare}", port="") == bare


@pytest.mark.parametrize(("port", "fits"), [("0", False), ("1", True), ("65535", True), ("65536", False), ("", False)])
def test_port_range(port: str, fits: bool) -> None:
    """A port lies between 1 and 65535, whatever the host's spelling."""
    for host in ("10.9.0.1", "app.internal", "[::1]"):
        if fits:
            assert canonical(f"{host}:{port}") == f"{host}:{port}"
        else:
            with pytest.raises(ValueError, match="port"):
                canonical(f"{host}:{port}")


NO_ADDRESS = [
    "",
    "-",
    "{http.request.host}:80",
    "{rp.upstream.hostport}",
    "{http",
    "10.9.0.1:80, 10.9.0.2:80",
    "10.9.0.1:8080-8082",
    "app internal:80",
    "app\x1b[2J:80",
    "app\u202e.internal:80",
    "10.9.0.1:80/path",
    "http://10.9.0.1:80/path",
    "http://",
    "[nonsense]:80",
    "1:2:3:x",
    ":80",
    "unix/",
    "unix:",
    "fd/3",
    "app:http",
    "-x:80",
    "10.9.0.1:\u0661",
]


@pytest.mark.parametrize("text", NO_ADDRESS)
def test_no_address(text: str) -> None:
    """What is no address is refused with a reason: a placeholder, a list, a hostile name, nothing at all."""
    with pytest.raises(ValueError, match=r"address|port|path"):
        canonical(text)


@given(st.text() | st.from_regex(r"(unix|tcp)[:/][\w.:/\[\]@-]*", fullmatch=True))
def test_canonical_is_stable(text: str) -> None:
    """Whatever is accepted is accepted again, unchanged, and is fit to be shown."""
    try:
        once = canonical(text)
    except ValueError:
        return
    assert canonical(once) == once
    assert once.isprintable()
    assert " " not in once
