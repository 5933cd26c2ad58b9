"""A web server that gives each request the same answer, over HTTP or TLS with a CA of its own."""

from __future__ import annotations

import datetime
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["Answered", "Fixed", "OwnCa", "answering_server"]

_LONGEST_HOLD_S = 30.0


@dataclass(frozen=True)
class Fixed:
    """What each request is answered; `paths` are those of which the answer is another one.

    Attributes:
        hold: The answer waits until it is set.
    """

    status: int = 200
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    paths: Mapping[str, Fixed] = field(default_factory=dict[str, "Fixed"])
    hold: threading.Event | None = None


@dataclass(frozen=True)
class Answered:
    """The server: its address, and the headers of each request."""

    url: str
    asked: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@dataclass(frozen=True)
class OwnCa:
    """A CA that nobody knows, and a certificate of it for this machine; both are PEM files."""

    ca: Path
    certificate: Path

    @classmethod
    def make(cls, folder: Path) -> OwnCa:
        """Make both in a folder."""
        ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        name = _name("A CA of our own")
        usage = x509.BasicConstraints(ca=True, path_length=None)
        ca = _signed(name, name, ca_key, ca_key, usage)
        names = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        )
        own = _signed(_name("localhost"), name, key, ca_key, names)
        made = cls(folder / "ca.pem", folder / "server.pem")
        made.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        made.certificate.write_bytes(private + own.public_bytes(serialization.Encoding.PEM))
        return made


@contextmanager
def answering_server(answer: Fixed, tls: OwnCa | None = None) -> Generator[Answered]:
    """Serve on this machine inside."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        scheme = "http"
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls.certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        server.answer = answer
        server.answered = Answered(f"{scheme}://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.answered
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    answer: Fixed
    answered: Answered

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that doesn't know the certificate leaves."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        self.rfile.read(int(self.headers.get("content-length") or 0))
        server.answered.asked.append({name.lower(): text for name, text in self.headers.items()})
        answer = server.answer.paths.get(self.path, server.answer)
        if answer.hold is not None:
            answer.hold.wait(_LONGEST_HOLD_S)
        body = answer.body.encode()
        self.send_response(answer.status)
        for name, text in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = do_PATCH = _answer  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    by: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(extension, critical=False)
        .sign(by, hashes.SHA256())
    )
