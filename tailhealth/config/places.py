"""Addresses, patterns, paths and zones as the operator writes them, each read to one form or refused with the remedy."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tailhealth.config.errors import UnfitError, show
from tailhealth.core.address import canonical

_ADMIN = 'expected the address of the admin interface such as "http://127.0.0.1:2019" or "unix//run/caddy/admin.sock"'
_LISTEN = 'expected a loopback address with its port such as "127.0.0.1:9311"'
_HIGHEST_PORT = 65535


def texts(value: Any, wanted: str) -> list[str]:
    """Return a list of strings; a single string is a list of one.

    Raises:
        UnfitError: It is something else, or one of them is empty.
    """
    entries = value if isinstance(value, list) else [value]
    for entry in entries:
        if not isinstance(entry, str) or not entry:
            raise UnfitError(f"expected {wanted}, got {show(entry)}")
    return entries


def read_hosts(value: Any) -> tuple[str, ...]:
    """Return host patterns in lower case."""
    return tuple(one.lower() for one in texts(value, 'hosts or globs such as "*.example.com"'))


def read_methods(value: Any) -> tuple[str, ...]:
    """Return request methods in upper case."""
    return tuple(one.upper() for one in texts(value, 'methods such as "POST"'))


def read_paths(value: Any) -> tuple[str, ...]:
    """Return patterns of URL paths.

    Raises:
        UnfitError: One can never match, because a path begins with a slash.
    """
    entries = texts(value, 'paths or globs such as "/api/*"')
    for entry in entries:
        if entry[0] not in "/*?[":
            raise UnfitError(f"the path {show(entry)} matches nothing: a path begins with /")
    return tuple(entries)


def read_upstreams(value: Any) -> tuple[str, ...]:
    """Return canonical addresses.

    Raises:
        UnfitError: One is no address, or stands there twice.
    """
    found: dict[str, None] = {}
    for entry in texts(value, 'upstreams such as "10.0.0.1:11434" or "unix//run/app.sock"'):
        try:
            address = canonical(entry)
        except ValueError as error:
            raise UnfitError(f"{show(entry)} is no upstream: {error}") from error
        if address in found:
            raise UnfitError(f"{show(entry)} stands there twice (as {address})")
        found[address] = None
    return tuple(found)


def read_protected(value: Any) -> tuple[str, ...]:
    """Return canonical addresses, and globs (`*`, `?`; the brackets of IPv6 are no glob) in lower case.

    Raises:
        UnfitError: One is neither, or names no port: a guard must not guess which of a machine's upstreams is meant.
    """
    found = []
    for entry in texts(value, 'upstreams or globs such as "10.0.0.*"'):
        try:
            address = canonical(entry)
        except ValueError as error:
            if not re.search(r"[*?]", entry):
                raise UnfitError(f"{show(entry)} is neither an upstream nor a glob: {error}") from error
            found.append(entry.lower())
            continue
        if canonical(entry, port="") != address:
            raise UnfitError(
                f"{show(entry)} lacks its port: write {show(entry + ':*')} for all ports or {show(address)} for one"
            )
        found.append(address)
    return tuple(found)


def read_admin(value: Any) -> str:
    """Return the address of an admin interface.

    Raises:
        UnfitError: It is none, or it holds a password, which would be shown.
    """
    if not isinstance(value, str):
        raise UnfitError(f"{_ADMIN}, got {show(value)}")
    if value.startswith("unix/"):
        if not value.startswith("unix//"):
            raise UnfitError(f"the path of a socket begins with /: write {show('unix//' + value[5:])}")
        return value
    if "://" not in value and re.fullmatch(r"[^/\s]+:[0-9]+/?", value):
        raise UnfitError(f"it lacks its scheme: write {show('http://' + value)}")
    return _web_address(value, _ADMIN).rstrip("/")


def read_listen(value: Any) -> str:
    """Return `host:port` of a loopback address.

    Raises:
        UnfitError: It is none, or other machines could reach it.
    """
    if not isinstance(value, str) or not (found := re.fullmatch(r"(\[[^\]]*\]|[^:]*):([0-9]{1,5})", value)):
        raise UnfitError(f"{_LISTEN}, got {show(value)}")
    host, port = found[1].lower(), int(found[2])
    if port > _HIGHEST_PORT:
        raise UnfitError(f"its port must be at most {_HIGHEST_PORT}, got {show(value)}")
    if host != "localhost" and not _is_loopback(host.strip("[]")):
        raise UnfitError(f"{show(value)} is no loopback address, and what it serves is not meant for others: {_LISTEN}")
    return f"{host}:{port}"


def read_zone(value: Any) -> str:
    """Return the name of a time zone.

    Raises:
        UnfitError: This system knows no such zone.
    """
    if value == "UTC":
        return "UTC"
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise UnfitError(f'expected a time zone such as "UTC" or "Europe/Paris", got {show(value)}') from None


def check_webhook(text: str) -> None:
    """Refuse what is no web address, without showing it: its path may be the secret.

    Raises:
        UnfitError: It is no http or https address.
    """
    try:
        _parts(text)
    except ValueError:
        raise UnfitError(
            'expected an address such as "https://...", "env:NAME" or "file:PATH" (its text is not shown)'
        ) from None


def _web_address(value: str, wanted: str) -> str:
    try:
        parts = _parts(value)
    except ValueError:
        raise UnfitError(f"{wanted}, got {show(value.rpartition('@')[2])}") from None
    if parts.username is not None:
        raise UnfitError(
            "a name or password in the address would be shown: put it into proxy.headers, as env:NAME or file:PATH"
        )
    if parts.query or parts.fragment:
        raise UnfitError(f"{wanted}, without ? and #")
    return value


def _parts(value: str) -> SplitResult:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not value.isprintable() or parts.port == 0:
        raise ValueError("it is no http address")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
