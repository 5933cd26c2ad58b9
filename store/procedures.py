"""The registry of procedures: versions that never change, found by name, where runs are stored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..files import READABLE, read_text, storage_error, write_atomically
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
from .procedure_stores import FolderProcedures, ProcedureStore, Versions
from .runs import store_address

__all__ = [
    "StoredProcedure",
    "export_procedures",
    "find_procedure",
    "import_procedures",
    "list_procedures",
    "make_current",
    "remove_procedure",
    "save_procedure",
    "versions_of",
]

_REFERENCE = re.compile(rf"({NAME})(?:@([1-9][0-9]{{0,5}}))?")
_SUFFIX = ".yaml"


@dataclass(frozen=True, slots=True)
class StoredProcedure:
    """A version of a procedure.

    Attributes:
        version: Its number, from 1.
        digest: The first 12 hexadecimal digits of the SHA-256 of its text.
        place: Where it is, for a person: its file, or the database with its name.
        is_current: Whether it is the one that the name alone means.
    """

    procedure: Procedure
    version: int
    digest: str
    place: str
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
    store, name, text = _store(), procedure.name, procedure_text(procedure)
    number = 1
    if (versions := store.versions(name)) is not None:
        if versions.current == versions.newest and store.read(name, versions.newest) == text:
            return find_procedure(name)
        number = versions.newest + 1
    while not store.add(name, number, text):  # Another process has just made this version.
        number += 1
    return find_procedure(f"{name}@{number}")


def find_procedure(reference: str) -> StoredProcedure:
    """Return a procedure by its name, or by name and version: `weekly-report@3`.

    Raises:
        InputError: There is none, or its text can't be read.
        StorageError: It is in a database that can't be reached.
    """
    if (match := _REFERENCE.fullmatch(reference)) is None:
        raise InputError(
            f"{reference!r} names no procedure.", "Write NAME or NAME@VERSION: weekly-report@3."
        )
    store, name = _store(), match[1]
    if (versions := store.versions(name)) is None:
        raise _unknown(store, name)
    number = int(match[2]) if match[2] else versions.current
    text = store.read(name, number) if number in versions.numbers else None
    if text is None:
        numbers = ", ".join(map(str, versions.numbers))
        raise InputError(
            f"The procedure {name} has no version {number}.", f"It has these: {numbers}."
        )
    return _stored(store, name, number, text, versions)


def _stored(
    store: ProcedureStore, name: str, number: int, text: str, versions: Versions
) -> StoredProcedure:
    place = store.place(name, number)
    procedure = parse_procedure(text, f"The procedure {place}")
    if procedure.name != name:
        raise InputError(
            f"{place} has the name {procedure.name}, and not {name}.",
            "A version is never changed by hand: restore it, or remove the procedure.",
        )
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return StoredProcedure(procedure, number, digest, place, number == versions.current)


def _unknown(store: ProcedureStore, name: str) -> InputError:
    known = ", ".join(store.names()) or "none"
    advice = f"There are these: {known}."
    if not isinstance(store, FolderProcedures) and FolderProcedures().versions(name) is not None:
        advice = (
            "The data folder has it, and procedures are looked for in the database. Bring it there "
            "by `procedure export` and `procedure import`: prefect-swarm docs procedures."
        )
    return InputError(f"There is no procedure {name!r}.", advice)


def list_procedures() -> tuple[StoredProcedure, ...]:
    """Return the current version of each procedure, by name.

    Raises:
        InputError: The text of one can't be read.
        StorageError: They are in a database that can't be reached.
    """
    return tuple(find_procedure(name) for name in _store().names())


def versions_of(name: str) -> tuple[int, ...]:
    """Return the numbers of a procedure's versions, oldest first.

    Raises:
        StorageError: They are in a database that can't be reached.
    """
    versions = _store().versions(name)
    return () if versions is None else versions.numbers


def make_current(reference: str) -> StoredProcedure:
    """Have a procedure's name mean a certain version.

    Raises:
        InputError: There is no such version.
        StorageError: It can't be written.
    """
    found = find_procedure(reference)
    _store().choose(found.procedure.name, found.version)
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
    _store().remove(name)
    return numbers


def export_procedures(folder: Path) -> tuple[str, ...]:
    """Write each version of each procedure into a folder, as `weekly-report@3.yaml`.

    Returns:
        The names with the versions.

    Raises:
        InputError: A file has such a name and other content.
        StorageError: A file can't be written.
    """
    store, written = _store(), list[str]()
    for name in store.names():
        for number in versions_of(name):
            text, path = store.read(name, number), folder / f"{name}@{number}{_SUFFIX}"
            if text is None:
                continue
            try:
                folder.mkdir(parents=True, exist_ok=True)
                if path.exists():
                    _check_same(text, read_text(path, "procedure"), store.place(name, number), path)
                write_atomically(path, text, mode=READABLE)
            except OSError as error:
                raise storage_error(path, len(text), error) from None
            written.append(f"{name}@{number}")
    return tuple(written)


def import_procedures(files: Sequence[Path]) -> tuple[str, ...]:
    """Store versions that were exported, under the numbers that their files' names have.

    A version that is there with the same content is passed over. Each file is checked before any
    is stored.

    Returns:
        The names with the versions that were not there before, oldest first.

    Raises:
        InputError: A file is no version, or another one is there under its number.
        StorageError: There is no room for it.
    """
    store, new = _store(), list[tuple[str, int, Path, str]]()
    for name, number, path in sorted(map(_version_of, files)):
        text = read_text(path, "procedure")
        procedure = parse_procedure(text, f"The procedure {path}")
        if procedure.name != name:
            raise InputError(
                f"{path} has the name {procedure.name}, and not {name}.",
                f"Call the file {procedure.name}@{number}{_SUFFIX}.",
            )
        if (known := store.read(name, number)) is None:
            new.append((name, number, path, text))
        else:
            _check_same(known, text, store.place(name, number), path)
    for name, number, path, text in new:
        if not store.add(name, number, text):  # Another process has just made this version.
            _check_same(store.read(name, number), text, store.place(name, number), path)
    return tuple(f"{name}@{number}" for name, number, _, _ in new)


def _version_of(path: Path) -> tuple[str, int, Path]:
    match = _REFERENCE.fullmatch(path.name.removesuffix(_SUFFIX))
    if match is None or not match[2]:
        raise InputError(
            f"The name of {path} is not that of a version.",
            f"Call it NAME@VERSION{_SUFFIX}, as `procedure export` does: weekly-report@3{_SUFFIX}",
        )
    return match[1], int(match[2]), path


def _check_same(known: str | None, text: str, place: str, path: Path) -> None:
    if known != text:
        raise InputError(
            f"{place} and {path} are the same version, and their content differs.",
            "Versions are never changed. Export into another folder, or store the file as a new "
            f"version: prefect-swarm procedure new {path}",
        )


def _store() -> ProcedureStore:
    if not (dsn := store_address()):
        return FolderProcedures()
    # Its driver is an extra.
    from .postgres_procedures import PostgresProcedures

    return PostgresProcedures(dsn)
