"""An admin interface behind TLS that asks for our certificate."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Fatal, Retryable
from tailhealth.proxies.caddy import Caddy as Adapter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by the openssl command"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an authority, and a certificate of it for the server and for us."""
    here = tmp_path_factory.mktemp("tls")
    (here / "san").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")

    def run(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=here, check=True, capture_output=True, timeout=60)

    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2")
    for name in ("server", "client"):
        run("req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        sign = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "san")
        run("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *sign)
    (here / "both.pem").write_text((here / "client.pem").read_text() + (here / "client.key").read_text())
    return here


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer with an empty configuration."""
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"null\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet: callers without a certificate are part of the tests."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve over TLS to those who show a certificate of the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("cert", "key"), [("client.pem", "client.key"), ("both.pem", None)])
def test_with_authority_and_certificate(folder: Path, cert: str, key: str | None) -> None:
    """The server is checked against the authority, and we show our certificate, with its key beside it or in it."""
    with served(folder) as admin:
        access = Access(admin, ca=str(folder / "ca.pem"), cert=str(folder / cert), key=key and str(folder / key))
        assert Adapter(access).read().places == ()


def test_a_server_that_is_not_to_be_trusted(folder: Path) -> None:
    """Without its authority it is not talked to."""
    with served(folder) as admin, pytest.raises(Retryable, match=r"(?i)certificate"):
        Adapter(Access(admin)).read()


def test_without_our_certificate(folder: Path) -> None:
    """The server turns us away."""
    with served(folder) as admin, pytest.raises(Retryable, match=r"(?i)certificate|reset|closed|EOF|broken"):
        Adapter(Access(admin, ca=str(folder / "ca.pem"))).read()


def test_a_key_that_is_missing(folder: Path) -> None:
    """The file is named."""
    access = Access("https://127.0.0.1:1", ca=str(folder / "ca.pem"), cert=str(folder / "client.pem"), key="/nowhere.key")
    with pytest.raises(Fatal, match=r"nowhere\.key"):
        Adapter(access).read()
