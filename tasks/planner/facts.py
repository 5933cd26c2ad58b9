"""Facts shown to a planner, as data: inputs, models, gates, tools. Pure."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import PurePath
from typing import Literal

from pydantic import Field
from pydantic_ai.tools import ToolDefinition

from ...data_types import Frozen
from ...errors import Category, SandboxError
from ...gates import DEFAULT_GATES, Gate, gate_name
from ...inputs.contents import InputKind, kind_of
from ...inputs.pictures import picture_of, reading_tokens, without_pictures
from ...models.names import Price, model_names, without_place
from ...plan.items import count_rows
from ...plan.output import OutputKind
from ...plan.procedure import Parameter, Procedure
from ...plan.procedure_steps import inputs_in, step_problem, toolsets_in
from ...plan.task_ir import TIERS, Tier
from ...store.protocol import RunStore
from ...text import one_line, plural
from ...toolsets.catalogue import Catalogue, ToolsetUse, listed_tools

__all__ = [
    "MOST_PLANS",
    "EarlierPlan",
    "EarlierStep",
    "GateFact",
    "InputNote",
    "PersonaFact",
    "PlanningFacts",
    "ProcedureFact",
    "TierFact",
    "ToolFact",
    "ToolsetFact",
    "asked_toolsets",
    "gate_facts",
    "listing",
    "notes_of",
    "offered_procedures",
    "procedure_facts",
    "tier_facts",
    "toolset_fact",
]


MOST_PLANS = 3
"""Earlier plans that a planner is shown."""


class TierFact(Frozen):
    """Tiers that one model serves, or the same several.

    Attributes:
        model: Its name, without address, folder and key.
        read_usd, written_usd: US dollars a million tokens; None where the price isn't known. Both
            are 0 for a model that runs on this machine.
        is_blind: Whether it can't be shown the pictures that are given; False where there are none.
    """

    tiers: tuple[Tier, ...]
    model: str
    read_usd: float | None = None
    written_usd: float | None = None
    is_blind: bool = Field(default=False, exclude_if=lambda is_blind: not is_blind)


class GateFact(Frozen):
    """A gate, what passes it, and the output kinds that have it by default."""

    name: str
    about: str
    default_for: tuple[OutputKind, ...] = ()


class ToolFact(Frozen):
    """A tool, and what it does; "" if its toolset doesn't say."""

    name: str
    about: str = ""


class ToolsetFact(Frozen):
    """A toolset that agents may have.

    Attributes:
        about: What it is good for; "" if only its tools say.
        tools: The first of them; `more_tools` is how many more it has.
    """

    name: str
    about: str = ""
    tools: tuple[ToolFact, ...] = ()
    more_tools: int = 0


class PersonaFact(Frozen):
    """A persona of the registry.

    Attributes:
        title: Its name for people, which an agent may have.
        good_at: The beginning of its instructions.
        attempts: How many it made, older ones counting less; 0 is no record.
        rate: The share of them that succeeded, 0 to 1.
    """

    name: str
    title: str
    task_types: tuple[str, ...]
    good_at: str = ""
    attempts: int = 0
    rate: float = 0.0


class EarlierStep(Frozen):
    """A step of an earlier plan as its last attempt had it.

    Attributes:
        prompt: What was asked; of a step that was for each, what one of its items was asked.
        needs: The steps whose outputs it read.
        items: How many items it was done for; 0 where it wasn't for each.
        attempts: How often it was tried; of several items, the most that one of them took.
        work_s: Seconds that all its attempts worked.
        failed: What its last attempt failed of, or that of one of its items; None if all succeeded
            or were kept.
    """

    id: str
    agent: str
    prompt: str
    needs: tuple[str, ...] = ()
    items: int = 0
    attempts: int = 1
    work_s: float = 0.0
    failed: Category | None = None


class EarlierPlan(Frozen):
    """What an earlier run did for an objective like this, and how it ended.

    Attributes:
        run: The flow run's id.
        similarity: That of the objectives, -1 to 1.
        status: `completed` if each step succeeded, `failed` if none did, `unfinished` if steps
            were not begun though none had failed.
        makespan_s: Seconds from the first attempt's start to the last one's end.
        steps: The first of them, in order; `more_steps` is how many more were tried.
        not_begun: Steps that were planned and never tried.
    """

    run: str
    objective: str
    similarity: float = 1.0
    status: Literal["completed", "partial", "failed", "unfinished"]
    makespan_s: float = Field(ge=0)
    steps: tuple[EarlierStep, ...]
    more_steps: int = 0
    not_begun: tuple[str, ...] = ()


class ProcedureFact(Frozen):
    """A procedure that a step may be; `inputs` are those that its steps name."""

    name: str
    purpose: str
    parameters: dict[str, Parameter]
    inputs: tuple[str, ...] = ()


class PlanningFacts(Frozen):
    """All of it, each the most useful first."""

    tiers: tuple[TierFact, ...] = ()
    gates: tuple[GateFact, ...] = ()
    toolsets: tuple[ToolsetFact, ...] = ()
    personas: tuple[PersonaFact, ...] = ()
    plans: tuple[EarlierPlan, ...] = Field(default=(), max_length=MOST_PLANS)
    procedures: tuple[ProcedureFact, ...] = Field(default=(), exclude_if=lambda found: not found)
    workspace: str = Field(default="", exclude_if=lambda found: not found)


_MILLION = 1_000_000
_MOST_GATES = 40
_MOST_PROCEDURES = 20


def tier_facts(
    model_of: Callable[[Tier], str], price_of: Callable[[str], Price | None]
) -> tuple[TierFact, ...]:
    """Return which models the tiers have, cheapest tier first; tiers of the same model together.

    Args:
        model_of: The name of a tier's model, or of several that stand in for one another.
        price_of: What a token of such a name costs; None where that isn't known.
    """
    by_model: dict[str, list[Tier]] = {}
    for tier in TIERS:
        by_model.setdefault(model_of(tier), []).append(tier)
    return tuple(_tier_fact(name, tiers, price_of(name)) for name, tiers in by_model.items())


def gate_facts(gates: Iterable[Gate], *, patches: bool = False) -> tuple[GateFact, ...]:
    """Return what passes each gate, and which kinds have it by default.

    Args:
        patches: Whether there are patches; else gates of theirs alone are left out.
    """
    defaults: dict[OutputKind, set[str]] = {
        kind: {*map(gate_name, names)}
        for kind, names in DEFAULT_GATES.items()
        if patches or kind != "patch"
    }
    gates = [gate for gate in gates if patches or gate.kinds - {"patch"}]
    return tuple(
        GateFact(
            name=gate.name,
            about=one_line(gate.about, 200),
            default_for=tuple(kind for kind, names in defaults.items() if gate.name in names),
        )
        for gate in [*gates][:_MOST_GATES]
    )


def procedure_facts(
    procedures: Iterable[Procedure], toolsets: Collection[str]
) -> tuple[ProcedureFact, ...]:
    """Return what is shown of procedures, without those that can't be a step of a plan.

    Args:
        procedures: Those that there are.
        toolsets: Names of the toolsets that the plan may name.
    """
    found = (
        ProcedureFact(
            name=each.name,
            purpose=one_line(each.purpose, _ABOUT_CHARS),
            parameters=each.parameters,
            inputs=inputs_in(each.plan.steps),
        )
        for each in procedures
        if not step_problem(each.plan)
        and toolsets_in(each.plan.agents, each.plan.steps) <= {*toolsets}
    )
    return tuple(islice(found, _MOST_PROCEDURES))


def offered_procedures(facts: PlanningFacts | None) -> dict[str, tuple[str, ...]]:
    """Return the procedures that a plan may name, with the names of their parameters."""
    found = facts.procedures if facts is not None else ()
    return {fact.name: tuple(fact.parameters) for fact in found}


def _tier_fact(name: str, tiers: list[Tier], price: Price | None) -> TierFact:
    return TierFact(
        tiers=tuple(tiers),
        model=", else ".join(map(_shown, model_names(name))),
        read_usd=price.input_usd * _MILLION if price else None,
        written_usd=price.output_usd * _MILLION if price else None,
    )


def _shown(name: str) -> str:
    """Write a model's name; no provider has to know addresses, folders and variables of keys."""
    return one_line(without_place(name).removeprefix("llamacpp:").partition("#")[0], 100)


_MOST_LINES = 20
"""Inputs that are shown one by one."""
_MOST_CHARS = 100
"""Characters of an input's first line."""
_MOST_GROUPS = 6
_NAME_CHARS = 80


class InputNote(Frozen):
    """An input as a planner sees it; `tokens` are estimated, `rows` are 0 where it has none."""

    name: str
    kind: InputKind
    characters: int
    tokens: int
    begins: str
    rows: int = Field(default=0, exclude_if=lambda rows: not rows)


def notes_of(inputs: Mapping[str, str]) -> tuple[InputNote, ...]:
    """Return what a planner sees of these texts."""
    return tuple(
        InputNote(
            name=name,
            kind="picture" if picture_of(text) else kind_of(name),
            characters=len(without_pictures(text)),
            tokens=reading_tokens(text),
            begins=one_line(_first_line(without_pictures(text)), _MOST_CHARS),
            rows=count_rows(name, text),
        )
        for name, text in inputs.items()
    )


def listing(notes: Sequence[InputNote]) -> str:
    """Write down which inputs there are; "" if there are none.

    Each has a line, or some of them where they are many: then how many there are is said first, and
    how many have which suffix and lie in which folder, as patterns over their names.
    """
    if not notes:
        return ""
    heading = "Inputs that are given with it:"
    if len(notes) <= _MOST_LINES:
        return "\n".join([heading, *map(_note_line, notes)])
    tokens = sorted(note.tokens for note in notes)
    largest = max(notes, key=lambda note: note.tokens)
    return "\n".join(
        [
            f"{heading} {len(notes):,}, of about {plural(sum(tokens), 'token')}; half of them have "
            f"{tokens[len(tokens) // 2]:,} or more, the largest has {tokens[-1]:,} "
            f"({one_line(largest.name, _NAME_CHARS)}).",
            f"Patterns over their names: {_patterns_text(notes)}",
            f"{_MOST_LINES} of them:",
            *map(_note_line, _sample(notes)),
        ]
    )


def _note_line(note: InputNote) -> str:
    rows = f"{plural(note.rows, 'row')}, " if note.rows else ""
    return (
        f"- {one_line(note.name, _NAME_CHARS)} ({note.kind}, {rows}"
        f"{plural(note.characters, 'character')}, about {plural(note.tokens, 'token')}), begins: "
        f"{note.begins}"
    )


def _patterns_text(notes: Sequence[InputNote]) -> str:
    suffixes = Counter(suffix for note in notes if (suffix := PurePath(note.name).suffix))
    folders = Counter(folder for note in notes if (folder := _folder(note)))
    patterns = [("*", len(notes))]
    patterns += [(f"*{suffix}", count) for suffix, count in suffixes.most_common(_MOST_GROUPS)]
    patterns += [(f"{folder}/*", count) for folder, count in folders.most_common(_MOST_GROUPS)]
    shown = [f"{one_line(each, _NAME_CHARS)} fits {count:,}" for each, count in patterns]
    more = max(0, len(suffixes) - _MOST_GROUPS) + max(0, len(folders) - _MOST_GROUPS)
    return ", ".join([*shown, *([f"and {more:,} more suffixes and folders"] if more else [])])


def _folder(note: InputNote) -> str:
    return note.name.partition("/")[0] if "/" in note.name else ""


def _sample(notes: Sequence[InputNote]) -> list[InputNote]:
    """Return some inputs, in their order: of each suffix in each folder by turns, evenly spread."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, note in enumerate(notes):
        groups.setdefault((_folder(note), PurePath(note.name).suffix), []).append(number)
    shares = dict.fromkeys(groups, 0)
    room = _MOST_LINES
    while room:
        for key, members in groups.items():
            if room and shares[key] < len(members):
                shares[key] += 1
                room -= 1
    chosen = [
        members[n * len(members) // shares[key]]
        for key, members in groups.items()
        for n in range(shares[key])
    ]
    return [notes[number] for number in sorted(chosen)]


def _first_line(text: str) -> str:
    # A PDF's first line says which page it is.
    lines = (line for line in text.split("\n") if line.strip() and line != "[page 1]")
    return next(lines, "")


_logger = logging.getLogger("prefect_swarm.tools")
_SECONDS = 60.0
_MOST_TOOLSETS, _MOST_TOOLS = 30, 12
_ABOUT_CHARS = 160


async def asked_toolsets(catalogue: Catalogue, run: RunStore) -> tuple[ToolsetFact, ...]:
    """Return what a planner is shown of the toolsets that it is offered, in their order.

    One that needs a sandbox where there is none is left out, with a warning.

    Raises:
        ToolsetError: One is not available, or doesn't say in time which tools it has.
    """
    names = [name for name in catalogue.sources if name in catalogue.offered][:_MOST_TOOLSETS]
    use = ToolsetUse(run, "", "plan")
    asked = [listed_tools(catalogue.source(name), use, _SECONDS) for name in names]
    listed = await asyncio.gather(*asked, return_exceptions=True)
    # Not before all have ended: a server that is still asked must not be left behind.
    for name, problem in zip(names, listed, strict=True):
        if isinstance(problem, SandboxError):
            _logger.warning("The planner is not offered the toolset %s: %s", name, problem)
        elif isinstance(problem, BaseException):
            raise problem
    return tuple(
        toolset_fact(name, catalogue.source(name).about, tools)
        for name, tools in zip(names, listed, strict=True)
        if not isinstance(tools, BaseException)
    )


def toolset_fact(name: str, about: str, tools: Mapping[str, ToolDefinition]) -> ToolsetFact:
    """Return what is shown of a toolset. Pure."""
    shown = [*tools.items()][:_MOST_TOOLS]
    return ToolsetFact(
        name=name,
        about=one_line(about, _ABOUT_CHARS),
        tools=tuple(
            ToolFact(name=tool, about=one_line(definition.description or "", _ABOUT_CHARS))
            for tool, definition in shown
        ),
        more_tools=len(tools) - len(shown),
    )
