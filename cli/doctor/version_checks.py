"""What `doctor` says of versions: what the package needs, and what doesn't fit together.

Everything but `check_versions` is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from .check import Check

__all__ = ["check_server_version", "check_versions", "misfits", "unfit_pairs"]

_OURS = "prefect-swarm"
_LOOKED_INTO = (_OURS, "prefect", "pydantic-ai-slim")
"""Packages whose requirements have to hold; pip warns of them only when it installs."""

Installed = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class UnfitPair:
    """Versions of two packages that each is allowed to have, and that don't work together."""

    package: str
    versions: str
    other: str
    other_versions: str
    effect: str
    fix: str


PAIRS = (
    UnfitPair(
        "prefect",
        "<3.9",
        "sqlalchemy",
        ">=2.1",
        "a server of this installation starts no run by a schedule",
        "Run: pip install 'prefect>=3.9.1,<4' on the server's machine, and start it again.",
    ),
)


def check_versions() -> Iterable[Check]:
    """Compare what is installed with what the package and its main parts ask for."""
    found = [
        check
        for package in _LOOKED_INTO
        if _installed(package) is not None
        for check in misfits(package, requires(package) or (), _extras(package), _installed)
    ]
    found += unfit_pairs(_installed)
    yield from found
    if not found:
        yield Check("versions", "ok", f"what is installed fits {', '.join(_LOOKED_INTO)}")


def misfits(
    package: str, required: Iterable[str], extras: Sequence[str], installed: Installed
) -> list[Check]:
    """Return a finding for each requirement of a package that doesn't hold.

    What only an extra asks for may be missing, and costs a warning where it has another version.
    """
    found: list[Check] = []
    for text in required:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        always = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        in_extra = not always and any(
            requirement.marker is not None and requirement.marker.evaluate({"extra": extra})
            for extra in extras
        )
        has = installed(requirement.name)
        if not (always or in_extra) or (has is None and not always):
            continue
        if has is not None and _holds(requirement.specifier, has):
            continue
        needed = f"{requirement.name}{requirement.specifier}"
        detail = f"{has or 'not installed'}; {package} needs {needed}"
        status = "fail" if always else "warn"
        found.append(Check(requirement.name, status, detail, f"Run: pip install '{needed}'"))
    return found


def unfit_pairs(installed: Installed, pairs: Iterable[UnfitPair] = PAIRS) -> list[Check]:
    """Return a finding for each pair of packages that is known not to work together."""
    found: list[Check] = []
    for pair in pairs:
        has, other = installed(pair.package), installed(pair.other)
        if has is None or other is None:
            continue
        if _holds(SpecifierSet(pair.versions), has) and _holds(
            SpecifierSet(pair.other_versions), other
        ):
            detail = f"{has} with {pair.other} {other}: {pair.effect}"
            found.append(Check(pair.package, "fail", detail, pair.fix))
    return found


def check_server_version(server: str, required: Iterable[str] | None = None) -> Iterable[Check]:
    """Compare a Prefect server's version with what the package asks of Prefect."""
    texts = (requires(_OURS) or ()) if required is None else required
    for requirement in map(Requirement, texts):
        if requirement.name != "prefect" or requirement.marker is not None:
            continue
        if not _holds(requirement.specifier, server):
            yield Check(
                "server version",
                "warn",
                f"{server}; {_OURS} is tried with prefect{requirement.specifier}. "
                "Schedules may not fire, and forms may not be shown",
                "Install that on the server's machine, and start it again.",
            )
        else:
            yield Check("server version", "ok", server)


def _holds(specifier: SpecifierSet, version: str) -> bool:
    return specifier.contains(version, prereleases=True)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extras(package: str) -> list[str]:
    # Those of other packages are their users' business.
    return (metadata(package).get_all("Provides-Extra") or []) if package == _OURS else []
