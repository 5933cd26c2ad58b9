"""A temporary server as a program has it: what attackers of the same machine and of the web try."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from base64 import b64encode
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import websockets
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Origin, Subprotocol

__all__ = ["GuardedServer", "guarded_server"]

_PROGRAM = """
import json, os, sys
from prefect_swarm.flows.prefect_io.temporary_server import start_server, stop_server
server = start_server()
print(json.dumps([server.url, os.environ.get("PREFECT_API_AUTH_STRING", ""), server.process.pid]))
sys.stdout.flush()
server.wait()
print(flush=True)
sys.stdin.read()
stop_server(server)
"""


@dataclass(frozen=True, slots=True)
class GuardedServer:
    """The server and what only its own clients know.

    Attributes:
        login: Its auth string.
        processes: The program's and the server's.
        taken: Whether another program could listen on its port while it was starting.
        folder: Where all files of both lie.
    """

    url: str
    login: str
    processes: tuple[int, int]
    taken: bool
    folder: Path

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    @property
    def authorization(self) -> str:
        return f"Basic {b64encode(self.login.encode()).decode()}"

    def ask(
        self, path: str, *headers: tuple[str, str], method: str = "GET", body: str = ""
    ) -> tuple[int, str]:
        """Send exactly these headers; return the status, and all of the answer."""
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        lines += ["Connection: close", f"Content-Length: {len(body)}", "", body]
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1"))
            answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")
        return int(answer.split()[1]), answer

    def follow(
        self,
        path: str,
        token: object,
        *,
        origin: str = "",
        host: str = "",
        protocols: Sequence[str] = ("prefect",),
    ) -> bool:
        """Say whether a websocket lets somebody in with a token."""
        return asyncio.run(self._follow(path, token, origin, host, protocols))

    async def _follow(
        self, path: str, token: object, origin: str, host: str, protocols: Sequence[str]
    ) -> bool:
        # The name decides the `Host` header, wherever the connection really leads.
        address = f"ws://{host or '127.0.0.1'}:{self.port}/api{path}"
        connecting = websockets.connect(
            address,
            origin=Origin(origin) if origin else None,
            subprotocols=[Subprotocol(each) for each in protocols] or None,
            host="127.0.0.1",
            port=self.port,
            proxy=None,
        )
        try:
            async with connecting as connection:
                await connection.send(json.dumps({"type": "auth", "token": token}))
                return json.loads(await connection.recv())["type"] == "auth_success"
        except (InvalidHandshake, ConnectionClosed):
            return False


@contextmanager
def guarded_server(folder: Path) -> Generator[GuardedServer]:
    """Run a program with a temporary server inside; the database in the folder is taken."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"},
        "HOME": str(folder),
        "PREFECT_HOME": str(folder),
        "PREFECT_INTEGRATIONS_SWARM_HOME": str(folder / "swarm"),
        "PREFECT_LOGGING_LEVEL": "DEBUG",
        # A login before a server of the user's own: it must not take the place of this one's.
        "PREFECT_CLIENT_CUSTOM_HEADERS": '{"Authorization": "Basic YTpi"}',
        "PREFECT_API_AUTH_STRING": "another:server",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url, login, server = json.loads(process.stdout.readline())
        taken = _is_free(int(urlsplit(url).port or 0))
        process.stdout.readline()
        yield GuardedServer(url, login, (process.pid, server), taken, folder)
    finally:
        process.stdin.close()
        process.wait(120)
        process.stdout.close()


def _is_free(port: int) -> bool:
    with socket.socket() as other:
        try:
            other.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
