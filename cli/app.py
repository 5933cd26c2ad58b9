"""The commands and their names."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from ..errors import ExitCode
from .command import command, written

if TYPE_CHECKING:
    from ..data_folder import FolderUse

__all__ = ["app"]


class _Place(NamedTuple):
    """Where a command's function, or a group of commands, is, and what it does with the data."""

    module: str
    name: str
    data: FolderUse | None = None


_COMMANDS = {
    "run": _Place("run", "run", "write"),
    "plan": _Place("run", "plan", "read"),
    "batch": _Place("batch", "batch", "write"),
    "eval": _Place("evals", "evaluate", "write"),
    "resume": _Place("run", "resume", "write"),
    "fork": _Place("fork", "fork", "write"),
    "diff": _Place("fork", "diff", "read"),
    "patch": _Place("patch", "patch", "write"),
    "apply": _Place("patch", "apply", "write"),
    "waiting": _Place("approvals", "waiting", "read"),
    "approve": _Place("approvals", "approve", "write"),
    "reject": _Place("approvals", "reject", "write"),
    "tell": _Place("messages", "tell", "write"),
    "edit": _Place("approvals", "edit", "write"),
    "runs": _Place("runs", "runs", "read"),
    "watch": _Place("watch", "watch", "read"),
    "inspect": _Place("inspect", "inspect", "read"),
    "report": _Place("inspect", "report", "read"),
    "automations": _Place("automations", "automations"),
    "docs": _Place("docs", "docs"),
    "doctor": _Place("doctor.command", "doctor"),
    "train": _Place("local_models", "train", "write"),
    "serve": _Place("local_models", "serve", "write"),
    "gates": _Place("gates", "gates_app"),
    "memory": _Place("memory.app", "memory_app"),
    "procedure": _Place("procedure", "procedure_app"),
}
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class _Commands(MutableMapping[str, Any]):
    """The commands by name; each is imported when it is asked for, since that takes a moment."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _make(name, _COMMANDS[name])
        return self._made[name]

    def __setitem__(self, name: str, made: Any) -> None:
        self._made[name] = made

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in _COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


def _make(name: str, place: _Place) -> Any:
    found = getattr(import_module(f"..{place.module}", __name__), place.name)
    if isinstance(found, typer.Typer):
        group = typer.main.get_command(found)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, context_settings=_SETTINGS)
    single.command(name)(command(found, place.data))
    return typer.main.get_command(single)


class _LazyGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer calls it with one
        return list(self.commands)


app = typer.Typer(
    cls=_LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"prefect-swarm {version('prefect-swarm')}")
        raise typer.Exit


_CODES = "; ".join(f"{code.value} {code.meaning.partition(':')[0]}" for code in ExitCode)


@app.callback(
    help=written(
        "An objective becomes a Prefect flow run of concurrent subagents.\n\n"
        f"Exit codes: {_CODES}. `prefect-swarm docs commands` says more."
    )
)
def about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Stand before every command."""
