"""MCP servers as a configuration has them, with environment variables in its texts. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, cast

from pydantic import ConfigDict, Field, ValidationError, field_validator

from ...data_types import Frozen
from ...errors import InputError
from ...host.secrets import ELSEWHERE, secret_in, secrets_in, secrets_of, without_secrets
from ...untrusted.json_text import NoJsonError
from ..names import checked_name
from .written import (
    EXAMPLE,
    FormError,
    ReadFile,
    environment_in,
    inputs_in,
    kind_of,
    parse_jsonc,
    plain_entry,
    servers_in,
    slugs,
)

__all__ = [
    "INPUT",
    "HttpServer",
    "McpEndpoint",
    "OAuthClient",
    "OwnMarks",
    "StdioServer",
    "UnsetVariableError",
    "expanded",
    "read_servers",
    "server_of",
    "variable_of_input",
]


INPUT = "input:"
"""Stands before the id of what VS Code asks its user for: `${input:api-key}`."""
_REFERENCE = re.compile(
    # What isn't closed reaches to the end, so that it is read once; `_text` leaves it as it is.
    r"\$\{(?:env:)?(input:[^}:]++|[A-Za-z_][A-Za-z0-9_]*+)(:-([^}]*+))?\}|\$\{(env:[^}]*+)\}"
    r"|\$\{(?:env:|[A-Za-z_][A-Za-z0-9_]*+:-)[^}]*+\Z"
)
_FOREIGN = re.compile(r"[^A-Za-z0-9]+")


class UnsetVariableError(Exception):
    """A text needs a variable that isn't set.

    Attributes:
        variable: The environment variable.
        where: The place of the text: `env.TOKEN`, `args.2`.
        asked: The id of an input that the variable stands for; "" without one.
    """

    def __init__(self, variable: str, where: str, asked: str = "") -> None:
        super().__init__(variable, where)
        self.variable, self.where, self.asked = variable, where, asked


def variable_of_input(name: str) -> str:
    """Return the environment variable that stands for an input: `API_KEY` for `api-key`."""
    variable = _FOREIGN.sub("_", name).strip("_").upper()
    return variable if variable[:1].isalpha() else f"INPUT_{variable}"


def expanded(value: Any, variables: Mapping[str, str], where: str = "") -> Any:
    """Return JSON data with each `${NAME}` and `${NAME:-default}` of its texts replaced.

    `${env:NAME}` is the same, and `${input:api-key}` is `${API_KEY}`. What a variable holds is
    taken as it is: references in it stay. An empty variable counts as unset where a default is
    given, as in a shell.

    Args:
        value: Data as `json.loads` gives it.
        variables: By their names; the default of an input by `input:` and its id.
        where: The place of the value.

    Raises:
        UnsetVariableError: A variable without a default isn't set.
    """
    match value:
        case str():
            return _text(value, variables, where)
        case dict():
            named = cast("dict[str, Any]", value)
            return {key: expanded(of, variables, _within(where, key)) for key, of in named.items()}
        case list():
            items = cast("list[Any]", value)
            return [expanded(of, variables, _within(where, str(n))) for n, of in enumerate(items)]
        case _:
            return value


def _text(text: str, variables: Mapping[str, str], where: str) -> str:
    def replace(found: re.Match[str]) -> str:
        name, has_default, default = found[1], found[2] is not None, found[3]
        if name is None and found[4] is None:
            return found[0]
        if name is None:
            # Windows has variables such as `ProgramFiles(x86)`.
            name = found[4].removeprefix("env:")
        asked = name.removeprefix(INPUT) if name.startswith(INPUT) else ""
        variable = variable_of_input(asked) if asked else name
        value = variables.get(variable)
        if has_default:
            return value or default
        if value is None and asked:
            value = variables.get(name)
        if value is None:
            raise UnsetVariableError(variable, where, asked)
        return value

    return _REFERENCE.sub(replace, text)


def _within(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


_FORM = f"Write it so: {EXAMPLE}"


class _OfOtherTools(Frozen):
    """Keys that other programs read from the same file are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class StdioServer(_OfOtherTools):
    """A server that is started as a process, and spoken to on its standard input and output.

    Attributes:
        env: Variables in addition to the few that each server gets: PATH, HOME and the like.
        cwd: The folder that it is started in; None is the process's own.
    """

    command: str = Field(min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict[str, str])
    cwd: str | None = None


class OAuthClient(_OfOtherTools):
    """A client that is registered with a server's authorization server by hand.

    Without one the client registers itself.
    """

    client_id: str = Field(default="", alias="clientId")
    client_secret: str = Field(default="", alias="clientSecret")
    callback_port: int = Field(default=0, alias="callbackPort", ge=0, le=65535)
    scope: str = ""


class HttpServer(_OfOtherTools):
    """A server at an address.

    Attributes:
        kind: How it is spoken to: over streamable HTTP, or over SSE as older servers are.
    """

    url: str = Field(pattern=r"^https?://[^\s/]")
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    kind: Literal["http", "sse"] = "http"
    oauth: OAuthClient = OAuthClient()


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
        title: Its name as its file has it, where plans can't call it so; "" where they can.
        about: What it is good for, if its configuration has a `description`.
        only: Its own names of the tools that are used; None for all of them.
        without: Its own names of tools that aren't used.
        passed_over: Keys of its entry that mean nothing here.
    """

    name: str
    how: StdioServer | HttpServer
    title: str = ""
    marks: OwnMarks = OwnMarks()
    about: str = ""
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _name_can_be_one(cls, name: str) -> str:
        return checked_name(name)

    @property
    def shown(self) -> str:
        """The name that people know it by."""
        return self.title or self.name

    @property
    def place(self) -> str:
        """A hash of how it is reached: its address, or its command. A new token changes nothing."""
        how = self.how
        if isinstance(how, StdioServer):
            secrets = secrets_in(how.env)
            plain = {name: value for name, value in how.env.items() if value not in secrets}
            parts: object = [how.command, how.args, how.cwd, plain]
        else:
            parts = without_secrets(how.url)
        text = json.dumps(parts, sort_keys=True)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def transport(self) -> Literal["stdio", "HTTP", "SSE"]:
        """How it is spoken to."""
        if isinstance(self.how, StdioServer):
            return "stdio"
        return "SSE" if self.how.kind == "sse" else "HTTP"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no text may show: of its variables or headers, its arguments and its address.

        A header may begin with how it is to be read, such as `Bearer`; so what follows a first
        blank is a value, too.
        """
        how = self.how
        own_values = how.env if isinstance(how, StdioServer) else how.headers
        client = "" if isinstance(how, StdioServer) else how.oauth.client_secret
        values = (*own_values.values(), client)
        parts = (part for value in values for part in (value, value.partition(" ")[2]))
        own = _in_arguments(how.args) if isinstance(how, StdioServer) else secrets_of(how.url)
        return tuple(filter(None, (*parts, *own)))


def read_servers(
    text: str, variables: Mapping[str, str], source: str, read: ReadFile | None = None
) -> tuple[McpEndpoint, ...]:
    """Return the servers of a configuration's text; those that are turned off are left out.

    Args:
        text: JSON, which may have comments, in the form of this package or of another program.
        variables: What `${NAME}` stands for.
        source: Where the text is from, for errors.
        read: Reads the `.env` files that the text names; without it they are passed over.

    Raises:
        InputError: It is no such text, a server is wrong, or a variable isn't set; says which
            server, which value, and what to do.
    """
    try:
        document = parse_jsonc(text)
        entries = servers_in(document)
    except FormError as error:
        raise InputError(f"{source}: {error}.", "Rename one of them.") from None
    except NoJsonError as error:
        raise InputError(f"{source} is not JSON: {error}.", _FORM) from None
    if entries is None:
        raise InputError(f"{source} has no object mcpServers.", _FORM)
    known = {f"{INPUT}{name}": value for name, value in inputs_in(document).items()} | dict(
        variables
    )
    named = slugs(entries)
    servers = (
        server_of(name, entry, known, source, slug=named[name], read=read)
        for name, entry in entries.items()
    )
    return tuple(server for server in servers if server is not None)


def server_of(
    name: str,
    entry: object,
    variables: Mapping[str, str] | None,
    source: str,
    *,
    slug: str = "",
    read: ReadFile | None = None,
) -> McpEndpoint | None:
    """Return a server by its entry; None if the entry turns it off.

    Args:
        name: Its name as its source has it.
        entry: Its part of the configuration.
        variables: What `${NAME}` stands for; None takes texts as they are.
        source: Where the entry is from, for errors.
        slug: What plans call it; its name, if left out.
        read: As `read_servers` has it.

    Raises:
        InputError: As `read_servers` has it.
    """
    where = f"The MCP server {name!r} of {source}"
    if not isinstance(entry, dict):
        raise InputError(f"{where} is not an object.", _FORM)
    try:
        if (plain := plain_entry(cast("dict[str, Any]", entry))) is None:
            return None
        values, passed_over = plain
        _refuse_secrets(values, _IN_HEADERS if variables is None else _AS_VARIABLE)
        values = values if variables is None else expanded(values, variables)
        return McpEndpoint(
            name=slug or name,
            title=name if slug and slug != name else "",
            how=_how(values, read),
            marks=OwnMarks.model_validate(values.get("swarm", {})),
            about=about if isinstance(about := values.get("description"), str) else "",
            only=values.get("only"),
            without=values.get("without", ()),
            passed_over=passed_over,
        )
    except UnsetVariableError as error:
        asked = f" for the input {error.asked!r}" if error.asked else ""
        default = "" if error.asked else f", or write ${{{error.variable}:-DEFAULT}}"
        raise InputError(
            f"{where} needs the environment variable {error.variable}{asked} in {error.where}, "
            "which isn't set.",
            f"Set {error.variable}{default}.",
        ) from None
    except FormError as error:
        raise InputError(f"{where}: {error}.", _TYPES) from None
    except InputError as error:
        raise InputError(f"{where}: {error.problem}", error.fix) from None
    except ValidationError as error:
        # The values themselves may be secrets, so that none is shown.
        problems = "; ".join(_without_values(error))
        raise InputError(
            f"{where} is wrong: {problems}.", "`prefect-swarm docs tools` has the form."
        ) from None


_AS_VARIABLE = "Write ${VARIABLE} in its place: what it stands for is not part of the file."
_IN_HEADERS = "Send it in a header: those are stored as secrets."
_WEB = re.compile("https?://", re.IGNORECASE)


def _refuse_secrets(values: Mapping[str, Any], fix: str) -> None:
    """Refuse passwords and keys that the entry itself has in a web address.

    Raises:
        InputError: It has; what it is isn't repeated.
    """
    for key, text in _addresses(values):
        if what := secret_in(_REFERENCE.sub(_written_in_file, text)):
            raise InputError(f"its {key} has {what}.", fix)


def _written_in_file(found: re.Match[str]) -> str:
    """Return what the file itself has for a variable: what stands for one that isn't set."""
    is_variable = found[1] is not None or found[4] is not None
    return found[3] or ELSEWHERE if is_variable else found[0]


def _addresses(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the entry's web addresses with the keys that they are behind."""
    if isinstance(url := values.get("url"), str):
        yield "url", url
    args = values.get("args")
    for arg in cast("list[object]", args) if isinstance(args, list) else ():
        if isinstance(arg, str) and (found := _WEB.search(arg)):
            yield "args", arg[found.start() :]


def _in_arguments(args: Sequence[str]) -> tuple[str, ...]:
    """Return the values of arguments that are secrets: `--token=…`, `--api-key …`, addresses."""
    named: list[tuple[str, str]] = []
    for before, arg in zip(("", *args), args, strict=False):
        name, has_value, value = arg.partition("=")
        named.append((name, value) if has_value else (before, arg))
    values = (
        secrets_in({name.strip("-").replace("-", "_"): value})
        for name, value in named
        if name.startswith("-") and not value.startswith("-")
    )
    return (*(each for found in values for each in found), *secrets_of(" ".join(args)))


def _how(values: Mapping[str, Any], read: ReadFile | None) -> StdioServer | HttpServer:
    has = [key for key in ("command", "url") if key in values]
    if len(has) != 1:
        raise InputError(
            "it has both command and url." if has else "it has neither command nor url.",
            "Give command for a process, or url for an address.",
        )
    kind = kind_of(values)
    if (has == ["command"]) != (kind == "stdio"):
        raise InputError(f"its type {kind!r} can't be used with {has[0]}.", _TYPES)
    if kind == "stdio":
        return StdioServer.model_validate(_with_file(values, read))
    return HttpServer.model_validate({**values, "kind": kind})


def _with_file(values: Mapping[str, Any], read: ReadFile | None) -> Mapping[str, Any]:
    """Return the values with the variables of the `.env` file; those of `env` come first."""
    path = values.get("envFile")
    if read is None or not isinstance(path, str):
        return values
    env = values.get("env", {})
    return {
        **values,
        "env": {**environment_in(read(path)), **env} if isinstance(env, dict) else env,
    }


_TYPES = "Servers are spoken to over stdio (command), http or sse (url)."


def _without_values(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)
    ]
