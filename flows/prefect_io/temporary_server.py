"""The Prefect server of a process: the configured one, or a temporary one of its own."""

from __future__ import annotations

import atexit
import hmac
import os
import secrets
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...errors import ServerError
from ...files import close_to_others, make_folder, owner_only
from ...host.network import (
    check_ca_files,
    check_proxies,
    host_name,
    is_loopback,
)
from ...host.system import LOGIN_VARIABLE
from .server_access import find_fault, say_backoffs

__all__ = [
    "LONGEST_S",
    "STUCK_S",
    "Guard",
    "Refusal",
    "Server",
    "configured_url",
    "prefect_server",
    "refusal_of_request",
    "start_server",
    "stop_server",
    "until_quiet",
]


_QUIET_S = 0.3
LONGEST_S = 60.0
STUCK_S = 10.0
"""A client that keeps its stream open, or an event that was given up, is not waited for longer."""


def until_quiet(
    remaining: Callable[[], int], clock: Callable[[], float], wait: Callable[[], None]
) -> None:
    """Return when nothing has been left for a moment, or what is left hasn't changed for long.

    Args:
        remaining: Counts what is still to do. It may be nothing between two things that come in.
        clock: Seconds.
        wait: Lets some time pass.
    """
    begin = clock()
    before, since = remaining(), begin
    while clock() - since < (STUCK_S if before else _QUIET_S) and clock() - begin < LONGEST_S:
        wait()
        now = remaining()
        if now != before:
            before, since = now, clock()


_START_S = 120.0
_STOP_S = 75.0
"""It writes what it received and ends by itself; where nothing moves for seconds, it ends too."""
_POLL_S = 0.1
_LOGIN_BYTES = 32


@dataclass(slots=True)
class Server:
    """A Prefect server; `process` is set where it is a temporary one.

    Attributes:
        before: What the environment had, in the place of what leads to a temporary one.
    """

    url: str
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None
    before: Mapping[str, str | None] = field(default_factory=dict[str, str | None])

    def wait(self) -> None:
        """Return when it answers.

        Raises:
            ServerError: It doesn't, or refuses; says which setting is wrong.
        """
        if self.process is None:
            if fault := find_fault(self.url):
                raise fault.error(self.url)
            return
        deadline = time.monotonic() + _START_S
        while not self._listens():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ServerError(
                    f"The temporary Prefect server did not start: {self._last_words()}",
                    f"See {self.log}, or start one yourself (`prefect server start`).",
                )
            time.sleep(_POLL_S)

    def _listens(self) -> bool:
        address = urlsplit(self.url)
        try:
            socket.create_connection((address.hostname, address.port), timeout=2.0).close()
        except OSError:
            return False
        return True

    def _last_words(self) -> str:
        text = self.log.read_text(errors="replace") if self.log and self.log.is_file() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing."


_started: Server | None = None


def prefect_server(say: Callable[[str], None]) -> Server:
    """Provide a server; one that is started may still be starting, so `wait` for it.

    A temporary one that this process has already is returned again.
    """
    check_proxies()
    check_ca_files(os.environ)
    say_backoffs()
    url = configured_url()
    if url is not None:
        return _started if _started is not None and _started.url == url else Server(url)
    say("Starting a temporary Prefect server (5 to 10 s; set PREFECT_API_URL to use your own).")
    return start_server()


def configured_url() -> str | None:
    """Return the address that Prefect's settings name, if they name one.

    Raises:
        ServerError: They name none and forbid a temporary server.
    """
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    if settings.api.url is None and not settings.server.ephemeral.enabled:
        raise ServerError(
            "No Prefect server is configured, and the profile forbids a temporary one.",
            "Run: prefect config set PREFECT_API_URL=http://127.0.0.1:4200/api",
        )
    return settings.api.url


def start_server() -> Server:
    """Start a temporary server, for this process and those that it starts; it ends with it.

    It answers nobody without its login, which is a new one each time.
    """
    global _started
    from prefect.context import refresh_global_settings_context

    from ...settings import home

    login = f"swarm:{secrets.token_urlsafe(_LOGIN_BYTES)}"
    log = home() / "server.log"
    make_folder(log.parent)
    _close_database()
    # Nobody else can take the port from here on; and only what listens on it can be connected to.
    with socket.socket() as bound, open(log, "wb", opener=owner_only) as output:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        process = subprocess.Popen(  # noqa: S603 - this interpreter, this package
            [sys.executable, "-P", "-m", f"{__package__}.server_process", str(bound.fileno())],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=_environment(login),
            pass_fds=(bound.fileno(),),
            start_new_session=True,
        )
    # Prefect sends its last logs when the interpreter ends; functions of atexit come after that.
    atexit.register(_end, process)
    url = f"http://127.0.0.1:{port}/api"
    leading = {
        "PREFECT_API_URL": url,
        # Never on a command line, which everybody on the machine can read.
        LOGIN_VARIABLE: login,
        # The headers of a login before a server of the user's own, which might take its place.
        "PREFECT_CLIENT_CUSTOM_HEADERS": "{}",
        # It has no UI, and Prefect would link to one.
        "PREFECT_UI_URL": "",
    }
    server = Server(url, process, log, {name: os.environ.get(name) for name in leading})
    _started = server
    os.environ.update(leading)
    refresh_global_settings_context()
    return server


def stop_server(server: Server) -> None:
    """End a temporary server before its process does; Prefect is without a server then."""
    from prefect.context import refresh_global_settings_context

    if server.process is None:
        return
    atexit.unregister(_end)
    _end(server.process)
    for name, value in server.before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    refresh_global_settings_context()


def _close_database() -> None:
    """Close what an older version's server left open to others; SQLite takes its mode for more."""
    from prefect.settings import get_current_settings

    database = get_current_settings().home / "prefect.db"
    for name in ("prefect.db", "prefect.db-wal", "prefect.db-shm"):
        close_to_others(database.with_name(name))


def _environment(login: str) -> dict[str, str]:
    """Return the settings that Prefect gives its own temporary server, but no telemetry.

    The server asks for the login, and lets no page of a browser read what it answers.
    """
    from prefect.settings import get_current_settings

    settings = get_current_settings().to_environment_variables(exclude_unset=True)
    return {
        **os.environ,
        **settings,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_API_AUTH_STRING": login,
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": "",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_WRONG_HOST = "This server is asked as 127.0.0.1 or localhost alone."
_PAGE = "This server answers no page of a browser."
_NO_LOGIN = "Unauthorized"
_POLICY = 1008
"""The close code of a websocket that breaks a rule; the client sees a 403."""


class Refusal(NamedTuple):
    """Why a request isn't answered."""

    status: int
    why: str


def refusal_of_request(
    kind: str, headers: Iterable[tuple[bytes, bytes]], login: str
) -> Refusal | None:
    """Say why a request may not be answered; None if it may. Pure.

    Args:
        kind: ASGI's: `http` or `websocket`. A websocket shows its login to Prefect later, in its
            first message.
        headers: Their names in lower case.
        login: Prefect's auth string, `user:password`.
    """
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    hosts = found.get(b"host", [])
    # With two hosts the check could use one and the server the other.
    if len(hosts) != 1 or not is_loopback(host_name(hosts[0].decode("latin-1"))):
        return Refusal(403, _WRONG_HOST)
    # A browser alone sends it. The server has no pages, so each origin is a foreign one.
    if b"origin" in found:
        return Refusal(403, _PAGE)
    if kind == "websocket":
        return None
    wanted = b"Basic " + b64encode(login.encode())
    shown = found.get(b"authorization", [])
    if len(shown) != 1 or not hmac.compare_digest(shown[0], wanted):
        return Refusal(401, _NO_LOGIN)
    return None


class Guard:
    """An ASGI app that hands on to another one what may be answered."""

    def __init__(self, app: App, login: str) -> None:
        """Take the app, and the auth string that Prefect's clients send."""
        self._app, self._login = app, login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if (kind := scope["type"]) in ("http", "websocket"):
            refusal = refusal_of_request(kind, scope["headers"], self._login)
            if refusal is not None:
                await _refuse(kind, refusal, send)
                return
        await self._app(scope, receive, send)


async def _refuse(kind: str, refusal: Refusal, send: Send) -> None:
    if kind == "websocket":
        await send({"type": "websocket.close", "code": _POLICY, "reason": refusal.why})
        return
    # As Prefect says it, whose clients show this text.
    body = f'{{"exception_message":"{refusal.why}"}}'.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
