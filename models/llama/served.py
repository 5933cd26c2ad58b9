"""The engine of another process of this machine: found, asked, and answered."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic import TypeAdapter, ValidationError

from ...data_types import Frozen
from ...errors import (
    ContextTooSmallError,
    EarlyAbortError,
    InputError,
    ModelError,
    ModelFailedError,
    StepTimeoutError,
    SwarmError,
)
from ...files import OWNER_ONLY, make_folder, process_lives, write_atomically
from ...settings import SwarmSettings, home
from ...untrusted.folder import read_file
from .api import EngineConfig, GeneratedText, GenerateRequest
from .engine import get_engine
from .gguf import check_adapter

if TYPE_CHECKING:
    import httpx

__all__ = [
    "ServedRecord",
    "ServerGoneError",
    "answer",
    "answer_from_json",
    "answer_to_json",
    "ask_server",
    "error_to_json",
    "find_record",
    "new_record",
    "proof",
    "published",
    "raise_error",
    "records_folder",
    "request_from_json",
    "request_to_json",
]


class ServedRecord(Frozen):
    """A process that serves a model file.

    Attributes:
        machine: Where it runs; a data folder may be shared by several machines.
        pid: Its process.
        address: Its URL, without a path.
        token: What proves both sides to each other; who can read the record knows it.
        path: The model file.
        size: Bytes of it.
        mtime_ns: When it was changed last, in nanoseconds.
        n_ctx: Tokens of context of one request.
    """

    machine: str
    pid: int
    address: str
    token: str
    path: str
    size: int
    mtime_ns: int
    n_ctx: int

    def serves(self, path: Path, config: EngineConfig) -> bool:
        """Whether it answers as an engine of the file in this process would.

        Args:
            path: The model file, resolved.
            config: How this process would serve it.
        """
        stat = path.stat()
        same = (self.path, self.size, self.mtime_ns) == (str(path), stat.st_size, stat.st_mtime_ns)
        return same and self.n_ctx >= config.n_ctx


def new_record(path: Path, address: str, config: EngineConfig) -> ServedRecord:
    """The record of this process, with a new token."""
    stat = path.stat()
    return ServedRecord(
        machine=_machine(),
        pid=os.getpid(),
        address=address,
        token=secrets.token_urlsafe(32),
        path=str(path),
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        n_ctx=config.n_ctx,
    )


@contextmanager
def published(folder: Path, record: ServedRecord) -> Generator[None]:
    """Let other processes find a server while the code inside runs.

    Args:
        folder: The folder of records; it is made if need be.
        record: The server's.

    Raises:
        OSError: The record can't be written.
    """
    make_folder(folder)
    file = folder / f"{record.pid}.json"
    write_atomically(file, record.model_dump_json(), mode=OWNER_ONLY)
    try:
        yield
    finally:
        # Its process may have ended, and another server of that number may have come, since.
        if _read(file) == record:
            file.unlink(missing_ok=True)


def find_record(folder: Path, path: Path, config: EngineConfig) -> ServedRecord | None:
    """The record of a living server of a file; records of dead processes are removed.

    Args:
        folder: The folder of records; it may be missing.
        path: The model file, resolved.
        config: How this process would serve it.
    """
    for file in sorted(folder.glob("*.json")):
        record = _read(file)
        if record is None or record.machine != _machine() or record.pid == os.getpid():
            continue
        if not process_lives(record.pid):
            file.unlink(missing_ok=True)
        elif record.serves(path, config):
            return record
    return None


def _read(file: Path) -> ServedRecord | None:
    """A record of this user; None for another's, who could have this process send it texts."""
    try:
        if hasattr(os, "getuid") and file.stat().st_uid != os.getuid():
            return None
        return ServedRecord.model_validate_json(read_file(file))
    except (OSError, ValidationError):
        return None


def _machine() -> str:
    """A name that two machines, or two containers, do not share."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    name = boot.read_text("ascii").strip() if boot.exists() else ""
    return f"{socket.gethostname()} {name}".strip()


_CALLBACKS = {"watch", "on_text", "on_start"}
_REQUEST = TypeAdapter(GenerateRequest)
_ANSWER = TypeAdapter(GeneratedText)
# The first that fits is what an error is on the other side.
_ERRORS: tuple[type[SwarmError], ...] = (
    ContextTooSmallError,
    ModelFailedError,
    EarlyAbortError,
    StepTimeoutError,
    ModelError,
    InputError,
)


def request_to_json(request: GenerateRequest) -> dict[str, Any]:
    """A request without what it calls."""
    return _REQUEST.dump_python(request, mode="json", exclude=_CALLBACKS)


def request_from_json(data: Any) -> GenerateRequest:
    """The request that another process made.

    Raises:
        InputError: It is none.
    """
    try:
        request = _REQUEST.validate_python(data)
    except ValidationError as error:
        raise _not_a_request(error.errors(include_url=False)[0]["msg"]) from None
    # A field that another version has and this one ignored would change the answer.
    if unknown := data.keys() - {field.name for field in fields(GenerateRequest)}:
        raise _not_a_request(f"it has {', '.join(sorted(unknown))}")
    return request


def _not_a_request(why: str) -> InputError:
    return InputError(
        f"That is not a request to this version's engine: {why}.",
        "Use the same version of prefect-swarm on both sides.",
    )


def answer_to_json(answer: GeneratedText) -> dict[str, Any]:
    """An answer, with its times."""
    return _ANSWER.dump_python(answer, mode="json")


def answer_from_json(data: Any) -> GeneratedText:
    """The answer that a server gave.

    Raises:
        ValueError: It is none.
    """
    return _ANSWER.validate_python(data)


def error_to_json(error: SwarmError) -> dict[str, Any]:
    """What was wrong, what to do, and which error it is."""
    kind = next((kind for kind in _ERRORS if isinstance(error, kind)), ModelFailedError)
    saved = error.saved if isinstance(error, EarlyAbortError) else 0
    return {"kind": kind.__name__, "problem": error.problem, "fix": error.fix, "saved": saved}


def raise_error(data: dict[str, Any]) -> NoReturn:
    """Raise the error that a server had."""
    problem, fix = str(data.get("problem")), str(data.get("fix", ""))
    name = data.get("kind")
    if name == EarlyAbortError.__name__:
        raise EarlyAbortError(problem, fix, int(data.get("saved", 0)))
    known = {kind.__name__: kind for kind in _ERRORS}
    raise known.get(str(name), ModelFailedError)(problem, fix)


def proof(token: str, challenge: str) -> str:
    """What only who knows the token can answer to a challenge."""
    return hmac.new(token.encode(), challenge.encode(), hashlib.sha256).hexdigest()


_CONNECT_S = 5.0

# Put in and found by `_make_sure`: the tokens of servers that have proved themselves, so that a
# proof is asked for once.
_proved: set[str] = set()


class ServerGoneError(SwarmError):
    """A server that has a record can't answer, or ended before its answer did."""


async def ask_server(
    record: ServedRecord, request: GenerateRequest, adapter: Path | None
) -> GeneratedText:
    """Have a server answer a request. What the request calls is called in this process.

    Cancelling the awaiting task closes the connection, which ends the request at its next token.

    Args:
        record: The server's.
        request: Its seed must be set, for the server may have another default.
        adapter: The adapter to apply.

    Raises:
        ServerGoneError: The server is not available, or went away.
        SwarmError: Whatever the engine raises.
    """
    # Here and not above: it takes a moment, and most processes ask no server.
    import httpx

    body = {
        "request": request_to_json(request),
        "adapter": None if adapter is None else str(adapter),
        "watched": request.watch is not None,
    }
    try:
        # Without a time limit for reading: a request waits as long as others come before it.
        timeout = httpx.Timeout(None, connect=_CONNECT_S)
        # The address is plain HTTP, and reading the machine's certificates takes a moment.
        no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with httpx.AsyncClient(
            base_url=record.address, timeout=timeout, verify=no_certificates, trust_env=False
        ) as client:
            await _make_sure(client, record)
            headers = {"Authorization": f"Bearer {record.token}"}
            async with client.stream(
                "POST", "/engine/generate", json=body, headers=headers
            ) as response:
                if response.status_code != 200:
                    raise ServerGoneError(f"it answered with status {response.status_code}")
                return await _Answer(request).read(response.aiter_lines())
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise ServerGoneError(str(error) or type(error).__name__) from None


async def _make_sure(client: httpx.AsyncClient, record: ServedRecord) -> None:
    """Send no text to a process that happens to have the port of a server that has ended."""
    if record.token in _proved:
        return
    challenge = secrets.token_urlsafe(16)
    response = await client.post("/engine/proof", json={"challenge": challenge}, timeout=_CONNECT_S)
    if not hmac.compare_digest(response.content, proof(record.token, challenge).encode()):
        raise ServerGoneError("another program answers at its address")
    _proved.add(record.token)


class _Answer:
    """What has come of an answer."""

    def __init__(self, request: GenerateRequest) -> None:
        self._request = request
        self._text = ""
        self._input = self._cached = 0
        self._queue_s = 0.0
        self._pieces = 0

    async def read(self, lines: AsyncIterator[str]) -> GeneratedText:
        """Take lines until the answer has ended, or `watch` ends it."""
        async for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                raise ServerGoneError("its answer broke off") from None
            if (done := self._take(event)) is not None:
                return done
        raise ServerGoneError("its answer broke off")

    def _take(self, event: dict[str, Any]) -> GeneratedText | None:
        match event:
            case {"started": [int(tokens), int(cached), queue_s]}:
                self._input, self._cached, self._queue_s = tokens, cached, queue_s
                if on_start := self._request.on_start:
                    on_start(tokens, cached)
            case {"text": str(piece)}:
                self._text += piece
                if on_text := self._request.on_text:
                    on_text(piece)
            case {"watch": str(held), "tokens": int(tokens), "duration_s": duration_s}:
                return self._watch(held, tokens, duration_s)
            case {"done": done}:
                return answer_from_json(done)
            case {"declined": why}:
                raise ServerGoneError(str(why))
            case {"error": error}:
                raise_error(error)
            case _:
                pass
        return None

    def _watch(self, held: str, tokens: int, duration_s: float) -> GeneratedText | None:
        watch, on_text = self._request.watch, self._request.on_text
        text = self._text + held
        why = watch(text) if watch else ""
        if not why:
            return None
        if on_text and held:
            on_text(held)
        return GeneratedText(
            text=text,
            input_tokens=self._input,
            cached_tokens=self._cached,
            output_tokens=tokens,
            finish="aborted",
            queue_s=self._queue_s,
            duration_s=duration_s,
            why=why,
        )


_logger = logging.getLogger("prefect_swarm.llama")


def records_folder() -> Path:
    """Where the servers of this machine can be found."""
    return home() / "served"


async def answer(path: Path, config: EngineConfig, request: GenerateRequest) -> GeneratedText:
    """Have a server of this machine answer that serves the file, or the engine of this process.

    Where a server goes away in the middle, the request is asked here, and its text goes on where
    it was.

    Args:
        path: A file that passed `check_model_file`.
        config: How this process serves it.
        request: What is asked.

    Raises:
        SwarmError: Whatever the engine raises.
    """
    record = _record(path, config)
    if record is not None:
        request = replace(request, seed=config.seed if request.seed is None else request.seed)
        # Its real path: the server may run in another folder.
        adapter = check_adapter(config.adapter) if config.adapter else None
        delivered = _Delivered(request.on_text)
        asked = replace(request, on_text=delivered.add) if request.on_text else request
        try:
            return await ask_server(record, asked, adapter)
        except ServerGoneError as error:
            _logger.warning(
                "The server of %s (process %d) went away: %s. The request is asked in this "
                "process.",
                path.name,
                record.pid,
                error.problem,
            )
        if request.on_text:
            request = replace(request, on_text=delivered.rest())
    return await get_engine(path, config).generate(request)


def _record(path: Path, config: EngineConfig) -> ServedRecord | None:
    folder = records_folder()
    if not folder.is_dir() or not SwarmSettings().served_models:
        return None
    return find_record(folder, path, config)


class _Delivered:
    """Hands text over, and knows how much of it was, should the answer begin anew."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._count = 0

    def add(self, piece: str) -> None:
        self._count += len(piece)
        if self._on_text:
            self._on_text(piece)

    def rest(self) -> Callable[[str], None]:
        """Hand over what comes after that: the same request has the same answer."""
        remaining = self._count

        def hand_over(piece: str) -> None:
            nonlocal remaining
            fresh = piece[remaining:]
            remaining = max(0, remaining - len(piece))
            if fresh and self._on_text:
                self._on_text(fresh)

        return hand_over
