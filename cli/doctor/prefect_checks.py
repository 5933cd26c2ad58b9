"""Checks of Prefect by `doctor`: access, schedules, and versions that fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from typing import TYPE_CHECKING
from uuid import UUID

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from pydantic import BaseModel, TypeAdapter

from ...flows.prefect_io.server_access import Opening
from ...text import plural
from .checks import Check

if TYPE_CHECKING:
    from prefect.client.orchestration import PrefectClient

__all__ = [
    "Scheduled",
    "check_access",
    "check_server_version",
    "check_versions",
    "findings",
    "misfits",
    "read_scheduled",
    "unfit_pairs",
]


_PATIENCE = timedelta(minutes=3)
"""Prefect's scheduler looks at each deployment once a minute."""
_HORIZON = timedelta(days=90)
"""How far ahead a server schedules runs for sure; it is 100 days unless the server says less."""
_MOST = 200
_FIX = (
    "Look at the log of the Prefect server, and at the versions on its machine (`prefect-swarm "
    "doctor` there)."
)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A deployment with a schedule that is on, and has a date in the next months.

    Attributes:
        name: The flow's and its own, as Prefect's commands take it.
        changed: When it was last changed.
        runs: How many runs are scheduled, or late.
    """

    name: str
    changed: datetime
    runs: int


def findings(scheduled: Sequence[Scheduled], now: datetime) -> Iterable[Check]:
    """Say which schedules bring no run. Pure."""
    idle = [each.name for each in scheduled if not each.runs and now - each.changed > _PATIENCE]
    if idle:
        names = ", ".join(idle)
        detail = f"{names}: a schedule is on, and the server has scheduled no run"
        yield Check("schedules", "warn", detail, _FIX)
    elif scheduled:
        runs = sum(each.runs for each in scheduled)
        detail = f"{plural(len(scheduled), 'deployment')}, {plural(runs, 'run')} to come"
        yield Check("schedules", "ok", detail)


async def read_scheduled(client: PrefectClient) -> list[Scheduled]:
    """Return the deployments whose schedules ask for runs in the next months, 200 at most."""
    from prefect.client.schemas.filters import (
        DeploymentFilter,
        DeploymentFilterId,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType

    upcoming = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED]))
    )
    found: list[Scheduled] = []
    flows: dict[UUID, str] = {}
    for deployment in await client.read_deployments(limit=_MOST):
        active = [each.schedule for each in deployment.schedules if each.active]
        if deployment.paused or not any([await _is_due(schedule) for schedule in active]):
            continue
        if deployment.flow_id not in flows:
            flows[deployment.flow_id] = (await client.read_flow(deployment.flow_id)).name
        only = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))
        runs = await client.read_flow_runs(flow_run_filter=upcoming, deployment_filter=only)
        name = f"{flows[deployment.flow_id]}/{deployment.name}"
        changed = deployment.updated or deployment.created or datetime.now(UTC)
        found.append(Scheduled(name, changed, len(runs)))
    return found


async def _is_due(schedule: BaseModel) -> bool:
    """Say whether a schedule has a date that a server makes a run for by now."""
    from prefect.server.schemas.schedules import SCHEDULE_TYPES

    kind: TypeAdapter[SCHEDULE_TYPES] = TypeAdapter(SCHEDULE_TYPES)
    asked = kind.validate_python(schedule.model_dump(exclude_unset=True))
    now = datetime.now(UTC)
    return bool(await asked.get_dates(n=1, start=now, end=now + _HORIZON))


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


_LOGIN_FIX = (
    "Set a login, user:password, as PREFECT_SERVER_API_AUTH_STRING where it starts and as "
    "PREFECT_API_AUTH_STRING where it is used. Or put a proxy with a login before it, and keep "
    "others off its network (`prefect-swarm docs approval`)."
)
_PAGES = ", and so may any web page in a browser there"


def check_access(opening: Opening | None) -> Iterable[Check]:
    """Say whom a server lets in; nothing where that isn't known."""
    if opening is None:
        return
    if not opening.to_all:
        detail = "it asks for a login; anyone who has it may read runs and approve"
        yield Check("server access", "ok", detail)
        return
    detail = "it asks for no login: anyone who reaches its API may read runs and approve"
    pages = _PAGES if opening.to_pages else ""
    yield Check("server access", "warn", f"{detail}{pages}", _LOGIN_FIX)
