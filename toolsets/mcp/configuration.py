"""MCP servers as a configuration has them, in the usual `mcpServers` form. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import ConfigDict, Field, ValidationError, field_validator

from ...errors import InputError
from ...frozen import Frozen
from ..names import checked_name
from .expanding import UnsetVariableError, expanded

__all__ = ["HttpServer", "McpEndpoint", "OwnMarks", "StdioServer", "read_servers", "server_of"]

_SERVERS, _OWN = "mcpServers", "swarm"
_READ = (
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "type",
    "transport",
    "description",
    _OWN,
)
_HTTP_TYPES = ("http", "streamable-http", "streamable_http", "streamableHttp")
_EXAMPLE = '{"mcpServers": {"time": {"command": "mcp-server-time"}}}'


class _OfOtherTools(Frozen):
    """Keys that other programs read from the same file are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class StdioServer(_OfOtherTools):
    """A server that is started as a process, and spoken to on its standard input and output.

    Attributes:
        env: Variables beside the few that each server gets: PATH, HOME and the like.
        cwd: The folder that it is started in; None is the process's own.
    """

    command: str = Field(min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict[str, str])
    cwd: str | None = None


class HttpServer(_OfOtherTools):
    """A server at an address, which speaks streamable HTTP."""

    url: str = Field(pattern=r"^https?://[^\s/]")
    headers: dict[str, str] = Field(default_factory=dict[str, str])


class OwnMarks(Frozen):
    """Tools of which the user knows what their server doesn't say.

    Attributes:
        idempotent: A call that may have been made already may be made again.
        acting: A call changes something outside the run. Where this is given, other tools of which
            their server says nothing don't act; without it, they do.
    """

    idempotent: tuple[str, ...] = ()
    acting: tuple[str, ...] | None = None


class McpEndpoint(Frozen):
    """A server by its name.

    Attributes:
        about: What it is good for, if its configuration has a `description`.
    """

    name: str
    how: StdioServer | HttpServer
    marks: OwnMarks = OwnMarks()
    about: str = ""

    @field_validator("name")
    @classmethod
    def _name_can_be_one(cls, name: str) -> str:
        return checked_name(name)

    @property
    def transport(self) -> Literal["stdio", "HTTP"]:
        """How it is spoken to."""
        return "stdio" if isinstance(self.how, StdioServer) else "HTTP"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no text may show: those of its variables or headers.

        A header may begin with how it is to be read, such as `Bearer`; so what follows a first
        blank is a value, too.
        """
        given = self.how.env if isinstance(self.how, StdioServer) else self.how.headers
        parts = (part for value in given.values() for part in (value, value.partition(" ")[2]))
        return tuple(filter(None, parts))


def read_servers(text: str, variables: Mapping[str, str], source: str) -> tuple[McpEndpoint, ...]:
    """Return the servers of a configuration's text; those with `"disabled": true` are left out.

    Args:
        text: JSON: an object with `mcpServers`.
        variables: What `${NAME}` stands for.
        source: Where the text is from, for errors.

    Raises:
        InputError: It is no such text, a server is wrong, or a variable isn't set; says which
            server, which value, and what to do.
    """
    return tuple(
        server_of(name, entry, variables, source)
        for name, entry in _entries(text, source).items()
        if not _is_disabled(entry)
    )


def server_of(
    name: str, entry: object, variables: Mapping[str, str] | None, source: str
) -> McpEndpoint:
    """Return a server by its entry; its texts are taken as they are where variables are None.

    Raises:
        InputError: As `read_servers` has it.
    """
    where = f"The MCP server {name!r} of {source}"
    if not isinstance(entry, dict):
        raise InputError(f"{where} is no object.", f"Write it so: {_EXAMPLE}")
    entry = cast("dict[str, Any]", entry)
    # Other keys may have variables that only other programs know.
    entry = {key: entry[key] for key in _READ if entry.get(key) is not None}
    try:
        read = entry if variables is None else expanded(entry, variables)
    except UnsetVariableError as error:
        raise InputError(
            f"{where} needs the environment variable {error.variable} in {error.where}, "
            "which isn't set.",
            f"Set it, or write ${{{error.variable}:-DEFAULT}}.",
        ) from None
    about = read.get("description")
    try:
        return McpEndpoint(
            name=name,
            how=_how(read),
            marks=OwnMarks.model_validate(read.get(_OWN, {})),
            about=about if isinstance(about, str) else "",
        )
    except InputError as error:
        raise InputError(f"{where}: {error.problem}", error.fix) from None
    except ValidationError as error:
        # The values themselves may be secrets, so that none is shown.
        problems = "; ".join(_without_values(error))
        raise InputError(
            f"{where} is wrong: {problems}.", "docs/how-to/tools.md has the form."
        ) from None


def _entries(text: str, source: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not JSON: {error}.", f"Write it so: {_EXAMPLE}") from None
    servers = cast("dict[str, Any]", read).get(_SERVERS) if isinstance(read, dict) else None
    if not isinstance(servers, dict):
        raise InputError(f"{source} has no object {_SERVERS}.", f"Write it so: {_EXAMPLE}")
    return cast("dict[str, Any]", servers)


def _is_disabled(entry: object) -> bool:
    return isinstance(entry, dict) and cast("dict[str, Any]", entry).get("disabled") is True


def _how(read: dict[str, Any]) -> StdioServer | HttpServer:
    kind = read.get("type", read.get("transport"))
    has = [key for key in ("command", "url") if key in read]
    if len(has) != 1:
        raise InputError(
            "it has both command and url." if has else "it has neither command nor url.",
            "Give command for a process, or url for streamable HTTP.",
        )
    if has == ["command"] and kind in (None, "stdio"):
        return StdioServer.model_validate(read)
    if has == ["url"] and (kind is None or kind in _HTTP_TYPES):
        return HttpServer.model_validate(read)
    raise InputError(
        f"its type {kind!r} can't be used.",
        "Servers are spoken to over stdio (command) or streamable HTTP (url, type http).",
    )


def _without_values(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
