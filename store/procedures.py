"""The registry of procedures: each version a file of its own in the data folder, never changed.

`procedures/NAME/3.yaml` is version 3; the file `current` names another version than the newest.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..files import make_folder, read_text, storage_error, write_atomically
from ..plan.procedure import (
    NAME,
    ParameterValue,
    Procedure,
    fill_in,
    parse_procedure,
    procedure_text,
)
from ..plan.procedure_steps import resolve
from ..plan.task_ir import PlanRules, TaskIR
from ..settings import home
from ..untrusted.folder import UntrustedFolder

__all__ = [
    "StoredProcedure",
    "find_procedure",
    "list_procedures",
    "make_current",
    "remove_procedure",
    "save_procedure",
    "versions_of",
]

_REFERENCE = re.compile(rf"({NAME})(?:@([1-9][0-9]{{0,5}}))?")
_CURRENT = "current"


@dataclass(frozen=True, slots=True)
class StoredProcedure:
    """A version of a procedure.

    Attributes:
        version: Its number, from 1.
        digest: The first 12 hexadecimal digits of the SHA-256 of its file.
        path: Its file.
        is_current: Whether it is the one that the name alone means.
    """

    procedure: Procedure
    version: int
    digest: str
    path: Path
    is_current: bool

    @property
    def reference(self) -> str:
        """Its name with its version."""
        return f"{self.procedure.name}@{self.version}"

    def filled(self, given: Mapping[str, ParameterValue], rules: PlanRules | None = None) -> TaskIR:
        """Return its plan with the values that a run is given; the plan names this version.

        Steps that are procedures have these procedures' steps inside.

        Raises:
            InputError: A value is missing, is no parameter's, or doesn't fit.
            PlanError: The filled plan breaks a rule.
        """
        plan = resolve(fill_in(self.procedure, given, rules), find_procedure, rules)
        return plan.model_copy(update={"procedure": self.reference})


def save_procedure(procedure: Procedure) -> StoredProcedure:
    """Store a procedure as the next version of its name, which is then the current one.

    A text that the current version has already is stored no second time.

    Raises:
        StorageError: There is no room for it.
    """
    name = procedure.name
    text = procedure_text(procedure)
    folder = _folder(name)
    if numbers := versions_of(name):
        newest = _file(name, numbers[-1])
        with suppress(OSError):
            if newest.read_text("utf-8") == text and _current(name, numbers) == numbers[-1]:
                return find_procedure(name)
    number = numbers[-1] + 1 if numbers else 1
    try:
        make_folder(folder)
        files = UntrustedFolder(folder)
        while True:
            try:
                files.create(_file(name, number).name, text.encode())
                break
            except FileExistsError:  # Another process has just made this version.
                number += 1
        (folder / _CURRENT).unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(folder, len(text), error) from None
    return find_procedure(f"{name}@{number}")


def find_procedure(reference: str) -> StoredProcedure:
    """Return a procedure by its name, or by name and version: `weekly-report@3`.

    Raises:
        InputError: There is none, or its file can't be read.
    """
    if (match := _REFERENCE.fullmatch(reference)) is None:
        raise InputError(
            f"{reference!r} names no procedure.", "Write NAME or NAME@VERSION: weekly-report@3."
        )
    name = match[1]
    numbers = versions_of(name)
    if not numbers:
        known = ", ".join(_names()) or "none"
        raise InputError(f"There is no procedure {name!r}.", f"There are these: {known}.")
    current = _current(name, numbers)
    number = int(match[2]) if match[2] else current
    if number not in numbers:
        versions = ", ".join(map(str, numbers))
        raise InputError(
            f"The procedure {name} has no version {number}.", f"It has these: {versions}."
        )
    path = _file(name, number)
    text = read_text(path, "procedure")
    procedure = parse_procedure(text, f"The procedure {path}")
    if procedure.name != name:
        raise InputError(
            f"{path} has the name {procedure.name}, and not {name}.",
            "A version is never changed by hand: restore it, or remove the procedure.",
        )
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return StoredProcedure(procedure, number, digest, path, number == current)


def list_procedures() -> tuple[StoredProcedure, ...]:
    """Return the current version of each procedure, by name.

    Raises:
        InputError: A file can't be read.
    """
    return tuple(find_procedure(name) for name in _names())


def versions_of(name: str) -> tuple[int, ...]:
    """Return the numbers of a procedure's versions, oldest first."""
    with suppress(OSError):
        found = (path.stem for path in _folder(name).glob("*.yaml"))
        return tuple(sorted(int(stem) for stem in found if stem.isdecimal()))
    return ()


def make_current(reference: str) -> StoredProcedure:
    """Have a procedure's name mean a certain version.

    Raises:
        InputError: There is no such version.
        StorageError: It can't be written.
    """
    found = find_procedure(reference)
    path = _folder(found.procedure.name) / _CURRENT
    try:
        write_atomically(path, f"{found.version}\n")
    except OSError as error:
        raise storage_error(path, 0, error) from None
    return find_procedure(found.reference)


def remove_procedure(name: str) -> tuple[int, ...]:
    """Remove a procedure with all of its versions; return their numbers.

    Raises:
        InputError: There is none, or a version was named.
        StorageError: It can't be removed.
    """
    found = find_procedure(name)
    if found.procedure.name != name:
        raise InputError(
            f"{name} is one version, and versions are kept.",
            f"Name the procedure to remove all of it: {found.procedure.name}",
        )
    numbers = versions_of(name)
    try:
        shutil.rmtree(_folder(name))
    except OSError as error:
        raise storage_error(_folder(name), 0, error) from None
    return numbers


def _current(name: str, numbers: tuple[int, ...]) -> int:
    with suppress(OSError, ValueError):
        number = int((_folder(name) / _CURRENT).read_text("utf-8"))
        if number in numbers:
            return number
    return numbers[-1]


def _names() -> list[str]:
    with suppress(OSError):
        folders = (path.name for path in _root().iterdir())
        return sorted(name for name in folders if re.fullmatch(NAME, name) and versions_of(name))
    return []


def _root() -> Path:
    return home() / "procedures"


def _folder(name: str) -> Path:
    return _root() / name


def _file(name: str, version: int) -> Path:
    return _folder(name) / f"{version}.yaml"
