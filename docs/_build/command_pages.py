"""The page of all commands and their options, as the command line itself has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer
from prefect_swarm.cli.app import app
from prefect_swarm.cli.options import NOT_HERE, flag_of
from prefect_swarm.flows.options import SwarmOptions
from tables import GENERATED, cell, table

__all__ = ["command_page"]

_HEAD = """\
# Commands

`prefect-swarm COMMAND --help` says the same. [Exit codes, output and pipes](commands.md) are the same for all commands.
Options of a run that several commands take stand on [a page of their own](options.md)."""


def command_page() -> str:
    """Return the page: a section a command, in the order of `--help`."""
    group = typer.main.get_command(app)
    return "\n\n".join([GENERATED, _HEAD, *_commands("prefect-swarm", group)]) + "\n"


def _commands(path: str, group: Any) -> Iterator[str]:
    for name in group.commands:
        command = group.commands[name]
        if getattr(command, "commands", None):
            yield from _commands(f"{path} {name}", command)
        else:
            yield _section(f"{path} {name}", command)


def _section(path: str, command: Any) -> str:
    options = [param for param in command.params if param.name not in ("help", "debug")]
    shared = [option for option in options if option.name in SwarmOptions.model_fields]
    own = [option for option in options if option not in shared]
    arguments = [_argument(option) for option in own if _is_argument(option)]
    usage = " ".join([path, "[OPTIONS]", *arguments])
    parts = [f"## {path.removeprefix('prefect-swarm ')}", f"```\n{usage}\n```"]
    parts += [_plain(command.help or "")]
    if own:
        parts.append(table(("Option", "Description", "Default"), map(_row, own)))
    if shared:
        parts.append(_shared(option.opts[0] for option in shared))
    return "\n\n".join(parts)


def _shared(flags: Iterable[str]) -> str:
    supplied = set(flags)
    every = {flag_of(name) for name in SwarmOptions.model_fields if name not in NOT_HERE}
    if supplied == every:
        return "It takes all [options of a run](options.md)."
    named = ", ".join(f"`{flag}`" for flag in sorted(supplied))
    return f"It takes these [options of a run](options.md): {named}."


def _is_argument(option: Any) -> bool:
    return option.param_type_name == "argument"


def _argument(option: Any) -> str:
    name = _name(option)
    text = f"{name}..." if option.nargs == -1 else name
    return text if option.required and not _is_bracketed(option) else f"[{text}]"


def _name(option: Any) -> str:
    name = option.metavar or option.name.upper()
    return name[1:-1] if _is_bracketed(option) else name


def _is_bracketed(option: Any) -> bool:
    return (option.metavar or "").startswith("[")


def _row(option: Any) -> tuple[str, str, str]:
    if _is_argument(option):
        name = f"`{_name(option)}`"
    else:
        flags = [*option.opts, *option.secondary_opts]
        value = f" {option.metavar}" if option.metavar else ""
        name = ", ".join(f"`{flag}{value}`" for flag in flags)
    return name, cell(_plain(option.help or "")), _default(option)


def _default(option: Any) -> str:
    value = option.default
    if value is None or value is False or callable(value) or value in ((), [], ""):
        return "required" if option.required and not _is_bracketed(option) else ""
    return f"`{getattr(value, 'value', value)}`"


def _plain(text: str) -> str:
    """Return a help text without what keeps rich from taking it for markup."""
    return re.sub(r"\\\[", "[", text).replace("\f", "").strip()
