"""One spelling per upstream: what Caddy, nginx, their logs and the configuration call by different names.

Caddy's log, its configuration and its admin interface spell one server in several ways (`10.0.0.1:80`, `tcp/10.0.0.1:80`,
`/run/app.sock`, `unix//run/app.sock`, `unix+h2c//run/app.sock`), and nginx has spellings of its own (`unix:/run/app.sock`).
All parts compare addresses by the one form that `canonical` returns (DESIGN section 1).
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address

DEFAULT_PORT = "80"
"""The port of a configured dial without one, in a Caddyfile as in an nginx `server` line."""

_PORT = r"(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_PLAIN = re.compile(rf"[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}:{_PORT}")
"""The spelling that nearly every line has: already canonical."""

_SCHEME = re.compile(r"(https?|h2c)://([^/]*)/?", re.IGNORECASE)
_SCHEME_PORTS = {"http": "80", "h2c": "80", "https": "443"}
_NETWORK = re.compile(r"(?:tcp|udp)[46]?/(.*)", re.IGNORECASE)
_UNIX = re.compile(r"unix(?:gram|packet|\+h2c)?/(.+)", re.IGNORECASE)
_NGINX_UNIX = re.compile(r"unix:(.+)", re.IGNORECASE)
_BRACKETED = re.compile(r"\[([^\[\]]*)\](?::(.*))?")
_HOST = re.compile(r"[0-9A-Za-z_](?:[0-9A-Za-z_.-]*[0-9A-Za-z_.])?")
_UNFIT = re.compile(r"[^\x21-\x7e]|[{}\"'<>]")
"""Blanks, control and other characters that no address has, and braces: a placeholder that nobody evaluated."""


def canonical(text: str, port: str = DEFAULT_PORT) -> str:
    """Return the one spelling of an address: `10.0.0.1:11434`, `[::1]:9000`, `unix//run/app.sock`.

    Names are lower case, IPv6 addresses in their short form, networks (`tcp/`, `udp4/`, `unix+h2c/`) and schemes dropped, since
    logs do not show them. Not cached: callers keep what they asked for.

    Args:
        text: An address as Caddy, nginx, a log line or the operator spells it.
        port: What a host without a port gets. `""` leaves it bare, as a log reader wants it: a log that names only the host
            is ambiguous, and nginx logs the name of a group there when no server could be chosen.

    Raises:
        ValueError: It is no address: empty, `-`, a placeholder, a port out of range. The message says why.
    """
    if _PLAIN.fullmatch(text):
        return text
    if text in {"", "-"}:
        raise ValueError("no address is given")
    if _UNFIT.search(text):
        raise ValueError("it holds a placeholder or a character that no address has")
    if text[0] in "/@":
        return f"unix/{re.sub('^/+', '/', text)}"
    for pattern in (_UNIX, _NGINX_UNIX):
        if socket := pattern.fullmatch(text):
            return f"unix/{re.sub('^/+', '/', socket[1])}"
    if scheme := _SCHEME.fullmatch(text):
        return _joined(scheme[2], port and _SCHEME_PORTS[scheme[1].lower()])
    network = _NETWORK.fullmatch(text)
    return _joined(network[1] if network else text, port)


def _joined(text: str, default: str) -> str:
    """Make `host:port` canonical; `default` is the port of a host without one."""
    if bracketed := _BRACKETED.fullmatch(text):
        host, port = f"[{_short(bracketed[1])}]", bracketed[2]
    elif text.count(":") > 1:
        host, port = f"[{_short(text)}]", None
    else:
        name, colon, number = text.partition(":")
        if not _HOST.fullmatch(name):
            raise ValueError("it is neither host:port nor the path of a socket")
        host, port = name.lower(), number if colon else None
    if port is None:
        return f"{host}:{default}" if default else host
    if not re.fullmatch(rf"0*{_PORT}", port):
        raise ValueError("its port is not a number from 1 to 65535")
    return f"{host}:{port.lstrip('0')}"


def _short(text: str) -> str:
    """Shorten an IPv6 address; a zone (`%eth0`) keeps its case."""
    try:
        return str(IPv6Address(text))
    except ValueError as error:
        raise ValueError("it is no IPv6 address") from error
