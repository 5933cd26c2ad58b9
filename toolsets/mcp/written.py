"""The forms in which programs write down MCP servers, brought into one. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, cast

from ...untrusted.json_text import read_json
from ..names import short_hash

__all__ = [
    "EXAMPLE",
    "FormError",
    "ReadFile",
    "environment_in",
    "folder_variables",
    "inputs_in",
    "parse_jsonc",
    "plain_entry",
    "servers_in",
    "slugs",
]


# A text, a comment that ends with its line, a comment with an end of its own, or a comma. What has
# no end is taken as it goes on, so that nothing is looked at twice.
_PART = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|//[^\n]*|/\*(?:.*?\*/|.*)|,', re.DOTALL)
_BLANKS = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s*")
_MARK = "\ufeff"


def parse_jsonc(text: str) -> Any:
    """Return the data of a JSON text that may have comments and trailing commas.

    Raises:
        NoJsonError: It is no such text, or has what readers understand differently, such as a key
            twice; says the line and the column.
    """
    text = _PART.sub(_blanked, text.removeprefix(_MARK))
    return read_json(_PART.sub(_without_trailing, text), halves=True)


def _blanked(found: re.Match[str]) -> str:
    """Put blanks in the place of a comment, so that lines and columns stay what they are."""
    part = found[0]
    is_open = part.startswith("/*") and (len(part) < 4 or not part.endswith("*/"))
    return _BLANKS.sub(" ", part) if part.startswith("/") and not is_open else part


def _without_trailing(found: re.Match[str]) -> str:
    if found[0] != ",":
        return found[0]
    text = found.string
    # What follows the last match of blanks is there, or the text has ended.
    after = _SPACE.match(text, found.end())
    closing = text[after.end() : after.end() + 1] if after else ""
    return " " if closing in ("}", "]") else ","


_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_SLUG = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_LONGEST = 40
"""Characters of a slug: there is room for a tool's name behind it, within 64."""


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a distinct slug for each name: letters, digits, `_` and `-`, a letter first.

    A name that is one keeps it. Of others whose slugs are equal each gets a hash of its name, so
    that no slug depends on the order of the names.
    """
    names = tuple(dict.fromkeys(names))
    plain = {name: _slug(name) for name in names}
    wanted = [*plain.values()]
    return {
        name: slug if slug == name or wanted.count(slug) == 1 else _hashed(slug, name)
        for name, slug in plain.items()
    }


def _slug(name: str) -> str:
    if _SLUG.fullmatch(name) and len(name) <= 64:
        return name
    plain = unicodedata.normalize("NFKD", name)
    letters = "".join(each for each in plain if not unicodedata.combining(each))
    slug = _FOREIGN.sub("_", letters).strip("_-")
    if not slug:
        return f"server-{short_hash(name)}"
    if not slug[0].isalpha():
        slug = f"server-{slug}"
    if len(slug) > _LONGEST or any(ord(each) > 127 and each.isalnum() for each in letters):
        # Letters are left out, by which others may differ.
        return _hashed(slug, name)
    return slug


def _hashed(slug: str, name: str) -> str:
    return f"{slug[: _LONGEST - 7]}-{short_hash(name)}"


EXAMPLE = '{"mcpServers": {"time": {"command": "mcp-server-time"}}}'
_SERVERS = ("mcpServers", "servers", "context_servers", "mcp_servers")
_RENAMED = {
    "httpUrl": "url",
    "serverUrl": "url",
    "environment": "env",
    "transport": "type",
    "transportType": "type",
    "includeTools": "only",
    "excludeTools": "without",
    "disabledTools": "without",
}
"""What a key of another program is called here."""
_READ = frozenset(
    {
        "args",
        "command",
        "cwd",
        "description",
        "env",
        "envFile",
        "headers",
        "oauth",
        "only",
        "swarm",
        "type",
        "url",
        "without",
    }
)
_KINDS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_SWITCHES = ("disabled", "enabled", "isActive")
_VARIABLE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"\s#.*")


class FormError(Exception):
    """A server's entry has a form that can't be read; says why."""


def servers_in(document: object) -> dict[str, Any] | None:
    """Return the entries of a document's servers by their names; None if it has no place for them.

    Raises:
        FormError: Two places have a server of the same name.
    """
    if not isinstance(document, dict):
        return None
    found: dict[str, Any] = {}
    places = [*_places(cast("dict[str, Any]", document))]
    for place in places:
        for name, entry in place.items():
            if name in found:
                raise FormError(f"two servers are named {name!r}")
            found[name] = entry
    return found if places else None


def _places(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    held = [document.get(key) for key in _SERVERS]
    mcp = document.get("mcp")
    if isinstance(mcp, dict):
        # VS Code's settings have the file's form within; opencode has the servers themselves.
        within = cast("dict[str, Any]", mcp)
        inner = [within[key] for key in _SERVERS if key in within]
        held += inner or [{name: each for name, each in within.items() if isinstance(each, dict)}]
    for each in held:
        if isinstance(each, dict):
            yield cast("dict[str, Any]", each)


def inputs_in(document: object) -> dict[str, str]:
    """Return the defaults of what VS Code would ask its user for, by their ids."""
    if not isinstance(document, dict):
        return {}
    held = cast("dict[str, Any]", document)
    mcp = held.get("mcp")
    of_mcp = cast("dict[str, Any]", mcp).get("inputs") if isinstance(mcp, dict) else None
    inputs = held.get("inputs", of_mcp)
    if not isinstance(inputs, list):
        return {}
    described = [
        cast("dict[str, Any]", each) for each in cast("list[Any]", inputs) if isinstance(each, dict)
    ]
    return {
        str(each["id"]): str(_scalar(each["default"]))
        for each in described
        if each.get("id") and each.get("default") is not None
    }


def plain_entry(entry: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """Return a server's entry in this package's form, and the keys that were passed over.

    None for a server that is turned off.
    """
    is_on = (_is(entry.get(key), otherwise=True) for key in ("enabled", "isActive"))
    if _is(entry.get("disabled")) or not all(is_on):
        return None
    known = {key: value for key, value in entry.items() if _RENAMED.get(key, key) in _READ}
    read: dict[str, Any] = {}
    for key, value in known.items():
        name = _RENAMED.get(key, key)
        # Gemini prefers `httpUrl` to `url`; an empty value is none.
        if value in (None, "", [], {}):
            continue
        if name == "without" and isinstance(value, list) and isinstance(read.get(name), list):
            read[name] = [*read[name], *cast("list[Any]", value)]
        elif name not in read or key in _RENAMED:
            read[name] = value
    if "httpUrl" in known:
        read.setdefault("type", "http")
    _unfold_command(read)
    for name, value in read.items():
        read[name] = _plain_value(name, value)
    passed_over = (key for key in entry if key not in known and key not in _SWITCHES)
    return read, tuple(passed_over)


def _plain_value(name: str, value: Any) -> Any:
    if name in ("env", "headers") and isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        return {key: _scalar(of) for key, of in held.items() if of is not None}
    if name in ("args", "only", "without") and isinstance(value, list):
        change = _scalar if name == "args" else _tool
        return [change(each) for each in cast("list[Any]", value)]
    return value


def _unfold_command(read: dict[str, Any]) -> None:
    command = read.get("command")
    if isinstance(command, dict):
        inner = cast("dict[str, Any]", command)
        found = {"command": inner.get("path"), "args": inner.get("args"), "env": inner.get("env")}
        read |= {key: value for key, value in found.items() if value}
    elif isinstance(command, list):
        first, *rest = cast("list[Any]", command)
        args = read.get("args", [])
        read |= {"command": first, "args": [*rest, *(args if isinstance(args, list) else [])]}


def kind_of(values: Mapping[str, Any]) -> str:
    """Return `stdio`, `http` or `sse`: what an entry says, or what its address looks like.

    Raises:
        FormError: Its type is none that is known.
    """
    named = values.get("type")
    if named is not None:
        plain = re.sub("[-_ ]", "", str(named)).lower()
        if plain not in _KINDS:
            raise FormError(f"its type {named!r} can't be used")
        # `remote` says where a server is, and not how it is spoken to.
        if plain != "remote":
            return _KINDS[plain]
    if "command" in values:
        return "stdio"
    path = str(values.get("url", "")).partition("?")[0].rstrip("/")
    return "sse" if path.endswith("/sse") else "http"


def _scalar(value: Any) -> Any:
    """Return a number or a boolean as a shell has it; other data as it is."""
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def _tool(value: Any) -> Any:
    """Return the name of a tool; Gemini's may have arguments behind it."""
    return value.partition("(")[0] if isinstance(value, str) else value


def _is(value: object, *, otherwise: bool = False) -> bool:
    if isinstance(value, str):
        return value.strip().lower() == "true"
    return value if isinstance(value, bool) else otherwise


def environment_in(text: str) -> dict[str, str]:
    """Return the variables of an `.env` file's text: a line each, `#` begins a comment."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if (read := _VARIABLE.fullmatch(line)) is not None:
            found[read[1]] = _unquoted(read[2].strip())
    return found


def _unquoted(value: str) -> str:
    quote = value[:1]
    end = value.find(quote, 1) if quote and quote in "\"'" else -1
    if end < 0:
        return _COMMENT.sub("", value).strip()
    inner = value[1:end]
    return inner.replace("\\n", "\n") if quote == '"' else inner


def folder_variables(path: PurePath, home: str) -> dict[str, str]:
    """Return what VS Code and Cursor know of the folder that a file is in."""
    folder = path.parent.parent if path.parent.name.startswith(".") else path.parent
    return {
        "workspaceFolder": str(folder),
        "workspaceFolderBasename": folder.name,
        "userHome": home,
        "pathSeparator": "/",
    }


ReadFile = Callable[[str], str]
"""Returns the text of a file that a configuration names."""
