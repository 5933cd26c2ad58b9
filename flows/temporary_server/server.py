"""Which Prefect server a process uses: the configured one, or a temporary one of its own."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ...errors import ServerError
from ...files import close_to_others, make_folder, owner_only
from ...host.certificates import check_ca_files
from ...host.socks import check_proxies
from .backoffs import say_backoffs
from .reaching import find_fault

__all__ = [
    "Server",
    "configured_url",
    "prefect_server",
    "start_server",
    "stop_server",
]

_START_S = 120.0
_STOP_S = 75.0
"""It writes what it heard and ends by itself; where nothing moves for seconds, it ends too."""
_POLL_S = 0.1


@dataclass(slots=True)
class Server:
    """A Prefect server; `process` is set where it is a temporary one."""

    url: str
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None

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


def prefect_server(say: Callable[[str], None]) -> Server:
    """Provide a server; one that is started may still be starting, so `wait` for it."""
    check_proxies()
    check_ca_files(os.environ)
    say_backoffs()
    url = configured_url()
    if url is not None:
        return Server(url)
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
    """Start a temporary server, for this process and those that it starts; it ends with it."""
    from prefect.context import refresh_global_settings_context

    from ...settings import home

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home() / "server.log"
    make_folder(log.parent)
    _close_database()
    with open(log, "wb", opener=owner_only) as output:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, this package
            [sys.executable, "-P", "-m", f"{__package__}.process", str(port)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=_environment(),
            start_new_session=True,
        )
    server = Server(f"http://127.0.0.1:{port}/api", process, log)
    # Prefect sends its last logs when the interpreter ends; functions of atexit come after that.
    atexit.register(_end, process)
    os.environ["PREFECT_API_URL"] = server.url
    # It has no UI, and Prefect would link to one.
    os.environ["PREFECT_UI_URL"] = ""
    refresh_global_settings_context()
    return server


def stop_server(server: Server) -> None:
    """End a temporary server before its process does; Prefect is without a server then."""
    from prefect.context import refresh_global_settings_context

    if server.process is None:
        return
    atexit.unregister(_end)
    _end(server.process)
    for name in ("PREFECT_API_URL", "PREFECT_UI_URL"):
        os.environ.pop(name, None)
    refresh_global_settings_context()


def _close_database() -> None:
    """Close what an older version's server left open to others; SQLite takes its mode for more."""
    from prefect.settings import get_current_settings

    database = get_current_settings().home / "prefect.db"
    for name in ("prefect.db", "prefect.db-wal", "prefect.db-shm"):
        close_to_others(database.with_name(name))


def _environment() -> dict[str, str]:
    """Return the settings that Prefect gives its own temporary server, but no telemetry."""
    from prefect.settings import get_current_settings

    settings = get_current_settings().to_environment_variables(exclude_unset=True)
    return {**os.environ, **settings, "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
