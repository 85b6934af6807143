"""HTTP to an admin interface: over TCP, TLS or a unix socket, a fresh connection per call, an end to every wait."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlparse

import msgspec
import requests
import urllib3
from requests_unixsocket.adapters import UnixAdapter, UnixHTTPConnection, UnixHTTPConnectionPool

from tailhealth import __version__
from tailhealth.proxies.base import CutOff, Fatal, Retryable

if TYPE_CHECKING:
    from collections.abc import Mapping

CHUNK = 1 << 16
TIMEOUTS = (requests.Timeout, urllib3.exceptions.TimeoutError)
LONGEST = 256 << 20
"""Bytes of an answer beyond which it is not a configuration: what answers there is not the admin interface."""


class Access(msgspec.Struct, frozen=True):
    """How to reach an admin interface (DESIGN section 9, `[proxy]`)."""

    admin: str
    """`http://host:port`, `https://host:port` or `unix//path`."""
    headers: tuple[tuple[str, str], ...] = ()
    """Extra headers with their values in clear: never to be shown."""
    ca: str | None = None
    """File with the certificate authorities that the admin interface's certificate is checked against."""
    cert: str | None = None
    """File with our client certificate, and its key unless `key` names another file."""
    key: str | None = None
    timeout: float = 5.0
    """Seconds that connecting, and the whole answer after it, may take each."""


class Answer(msgspec.Struct, frozen=True):
    """An answer, whatever its status."""

    status: int
    body: bytes
    etag: str
    seconds: float

    @property
    def words(self) -> str:
        """What a body says in words: its `error` if it is such an object, else its beginning."""
        try:
            said = msgspec.json.decode(self.body, type=dict[str, object])["error"]
        except (msgspec.DecodeError, KeyError):
            said = self.body[:300].decode("utf-8", "replace")
        return str(said).strip() or "no further words"


class _Connection(UnixHTTPConnection):
    """Unlike its base, it closes its socket where nobody listens."""

    def connect(self) -> None:
        """Connect to the socket that the URL names.

        Raises:
            OSError: Nobody listens there, or it may not be opened.
        """
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            one.settimeout(self.timeout)
            one.connect(unquote(urlparse(self.unix_socket_url).netloc))
        except OSError:
            one.close()
            raise
        self.sock = one


class _Pool(UnixHTTPConnectionPool):
    def _new_conn(self) -> _Connection:
        return _Connection(self.socket_path, self.timeout)  # type: ignore[no-untyped-call] # the library is untyped


class _Adapter(UnixAdapter):
    def get_connection(self, url: str | bytes, proxies: object = None) -> _Pool:  # noqa: ARG002 - the base class's signature
        """Make a connection pool for one call; the session that holds this adapter makes only one."""
        self.pools[url] = pool = _Pool(url, self.timeout)  # type: ignore[no-untyped-call] # the library is untyped
        return pool


class Admin:
    """One admin interface. Holds no connection: each change of Caddy's configuration cuts all of them."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._unix = access.admin.startswith("unix/")
        if self._unix:
            self._base = "http+unix://" + quote(access.admin.removeprefix("unix/"), safe="")
        else:
            self._base = access.admin.rstrip("/")

    def call(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one request over a connection of its own.

        Args:
            method: HTTP method.
            path: Path with its leading `/`, percent-encoded where needed.
            body: JSON to send.
            headers: Headers of this call.

        Raises:
            Retryable: No answer, or not all of it, within the timeouts: what a change did is unknown.
            CutOff: No answer, or not all of it, because the connection ended: as unknown.
            Fatal: A certificate or key can't be read.
        """
        sent = {"Accept-Encoding": "identity", "User-Agent": f"tailhealth/{__version__}", **(headers or {})}
        if body is not None:
            sent["Content-Type"] = "application/json"
        if self._unix:
            # Caddy checks the host on a socket too, and takes this one in every version.
            sent["Host"] = "127.0.0.1"
        sent |= dict(self._access.headers)
        began = time.monotonic()
        try:
            with (
                self._session() as session,
                session.request(
                    method,
                    self._base + path,
                    data=body,
                    headers=sent,
                    timeout=self._access.timeout,
                    stream=True,
                    allow_redirects=False,
                ) as response,
            ):
                content = self._content(response)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            kind = Retryable if isinstance(error, TIMEOUTS) else CutOff
            raise kind(f"{self._access.admin}: {_reason(error)}") from error
        except OSError as error:
            raise Fatal(f"{error}: check `ca`, `cert` and `key` of [proxy]") from error
        return Answer(response.status_code, content, response.headers.get("Etag", ""), time.monotonic() - began)

    def _session(self) -> requests.Session:
        session = requests.Session()
        # The admin interface is local matter: no HTTP_PROXY, no .netrc.
        session.trust_env = False
        if self._unix:
            adapter = _Adapter(timeout=self._access.timeout)  # type: ignore[no-untyped-call] # the library is untyped
            session.mount("http+unix://", adapter)
        if self._access.ca is not None:
            session.verify = self._access.ca
        if self._access.cert is not None:
            session.cert = self._access.cert if self._access.key is None else (self._access.cert, self._access.key)
        return session

    def _content(self, response: requests.Response) -> bytes:
        """Read a body with one deadline for all of it: the library's own timeout begins anew with every byte."""
        deadline = time.monotonic() + self._access.timeout
        parts, size = [], 0
        while part := response.raw.read1(CHUNK):
            parts.append(part)
            size += len(part)
            if time.monotonic() > deadline:
                raise requests.Timeout(f"the answer was not complete after {self._access.timeout:g} s")
            if size > LONGEST:
                raise requests.RequestException("the answer is too long for an admin interface")
        return b"".join(parts)


def _reason(error: Exception) -> str:
    """Find the words of the system at the bottom of a library's chain of errors."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or (isinstance(cause, OSError) and cause.strerror and cause.errno):
            return str(cause.strerror or cause)
        if isinstance(cause, http.client.RemoteDisconnected):
            return "the connection was closed without an answer"
        cause = cause.__cause__ or cause.__context__
    return "no answer in time" if isinstance(error, TIMEOUTS) else str(error)
