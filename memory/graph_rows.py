"""The graph's nodes, edges and tallies of mitigations, read from episodes. Pure."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .episode import Episode, LogEntry

__all__ = [
    "EDGES",
    "NODES",
    "SYMPTOM_CHARS",
    "LatestAttempt",
    "MitigationTally",
    "Rows",
    "StepKey",
    "node_id",
    "rows_of",
    "symptom_of",
    "symptom_text",
]


SYMPTOM_CHARS = 240
_READ = 8000
"""Characters of a message that are read; gates put the most important findings first."""

# Hexadecimal and decimal figures, with what holds their digits together.
_NUMBER = r"0x[0-9a-fA-F]+|\d+(?:[.,:_]\d+)*"
_FILE = r"[\w-]{1,100}\.(?:py|pyi|sh|json|ya?ml|toml|txt|md|csv|html?|js|ts|ini|cfg|log|pdf|xml)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\x1b\[[0-9;]*[A-Za-z]", ""),
        (r"```.*?(?:```|\Z)", "'…'"),
        # A quote opens after what is not a word and closes before such, or is cut off at the end;
        # an apostrophe does neither.
        (r"(?<!\w)'(?:[^'\\…]|\\.?|'(?=\w))*+(?:'(?!\w)|…'?|\Z)", "'…'"),
        (r'"(?:[^"\\…]|\\.?)*+(?:"|…"?|\Z)', "'…'"),
        (r"`[^`]*(?:`|\Z)", "'…'"),
        (r"[“„][^”]*(?:”|\Z)", "'…'"),
        (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<id>"),
        (r"\bhttps?://[^\s,;)]+", "<url>"),
        (r"\$(?:\.[\w-]+|\[[^\]]{0,100}\])+", "<path>"),
        (r"(?<![\w<])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*", "<path>"),
        (rf"(?<![\w.-])(?:[\w.-]{{1,100}}/){{0,30}}{_FILE}\b", "<path>"),
        # A call with what it was called with; `split()` names a function and stays.
        (r"(?<![\w.])[A-Za-z_][\w.]*\((?=[^()\s])[^()]*\)", "<call>"),
        # S1 is a step; S101, a rule of a linter's, has three digits and stays.
        (r"\bS[1-9]\d?\b", "<step>"),
        (rf"(?<![A-Za-z_\d])(?:{_NUMBER})", "#"),
        (r"[-+](?=#)", ""),
        (r"(?:'…'|#)(?:(?:, | and | or )(?:'…'|#))+", "'…'"),
        (r"\s+", " "),
    )
)


def symptom_of(error: str, names: Collection[str] = ()) -> str:
    """Normalise a failure's message; "" for an empty message.

    Quoted texts, paths, calls, numbers, step ids and the given names are replaced; findings
    are sorted, and equal ones counted once.

    Args:
        error: The message, such as an attempt's `error`.
        names: Other texts that are replaced: the attempt's model and persona.

    Returns:
        At most `SYMPTOM_CHARS` characters on one line.
    """
    text = error[:_READ]
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "<name>", text)
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    gate = re.match(r"gate [\w-]+: ", text)
    head = gate[0] if gate else ""
    parts = (part.strip(" .") for part in text[len(head) :].split("; "))
    return (head + "; ".join(sorted(set(filter(None, parts)))))[:SYMPTOM_CHARS].strip()


NODES: Mapping[str, Mapping[str, str]] = {
    "Run": {"run": "STRING"},
    "Step": {"run": "STRING", "step": "STRING"},
    "Attempt": {
        "position": "INT64",
        "number": "INT64",
        "task_type": "STRING",
        "tier": "STRING",
        "cause": "STRING",
        "succeeded": "BOOL",
        "category": "STRING",
        "reward": "DOUBLE",
        "ended_at": "DOUBLE",
    },
    "Persona": {"name": "STRING"},
    "Model": {"name": "STRING"},
    "Gate": {"name": "STRING"},
    "FailureMode": {"category": "STRING", "gate": "STRING"},
    "Symptom": {"text": "STRING"},
    "Mitigation": {"action": "STRING", "target": "STRING"},
}
"""Each node's properties besides `id` and `namespace`."""

EDGES: Mapping[str, tuple[str, str]] = {
    "PART_OF": ("Step", "Run"),
    "DERIVED_FROM": ("Step", "Step"),
    "TRY_OF": ("Attempt", "Step"),
    "PRECEDED_BY": ("Attempt", "Attempt"),
    "TRIED_BY": ("Attempt", "Persona"),
    "RAN_ON": ("Attempt", "Model"),
    "FAILED_BY": ("Attempt", "FailureMode"),
    "FOUND_BY": ("FailureMode", "Gate"),
    "HAS_SYMPTOM": ("Attempt", "Symptom"),
}
"""Source and target of each kind. `TRIED`, from Symptom to Mitigation, has a tally."""

_TARGETED = ("ESCALATE", "DELEGATE")
_NO_MITIGATION = ("SKIP", "FAIL")


class StepKey(NamedTuple):
    """Identifies a step in all namespaces."""

    namespace: str
    run: str
    step: str


class LatestAttempt(NamedTuple):
    """A step's latest attempt so far: its node, its number, and its symptom's node if it failed."""

    attempt: str
    number: int
    symptom: str | None


class MitigationTally(NamedTuple):
    """How often a mitigation was tried on a symptom, worked, and led to the same symptom again.

    Attributes:
        repaired_at: Position of the latest attempt that succeeded by it; 0 for none.
    """

    tried: int = 0
    worked: int = 0
    recurred: int = 0
    repaired_at: int = 0

    def plus(self, other: MitigationTally) -> MitigationTally:
        """The sum of both."""
        return MitigationTally(
            self.tried + other.tried,
            self.worked + other.worked,
            self.recurred + other.recurred,
            max(self.repaired_at, other.repaired_at),
        )


@dataclass(frozen=True)
class Rows:
    """Nodes by kind and id; edges by kind, each once; tallies by symptom's and mitigation's id."""

    nodes: dict[str, dict[str, tuple[Any, ...]]] = field(
        default_factory=lambda: {kind: dict[str, tuple[Any, ...]]() for kind in NODES}
    )
    edges: dict[str, dict[tuple[str, str], None]] = field(
        default_factory=lambda: {kind: dict[tuple[str, str], None]() for kind in EDGES}
    )
    tallies: dict[tuple[str, str], MitigationTally] = field(
        default_factory=lambda: defaultdict[tuple[str, str], MitigationTally](MitigationTally)
    )

    def node(self, kind: str, namespace: str, *properties: Any, key: Sequence[Any] = ()) -> str:
        """Add a node and return its id, made of its namespace and its key or properties."""
        name = node_id(namespace, *(key or properties))
        self.nodes[kind][name] = (namespace, *properties)
        return name

    def edge(self, kind: str, source: str, target: str) -> None:
        """Add an edge once."""
        self.edges[kind][source, target] = None


def node_id(namespace: str, *parts: Any) -> str:
    """The id of a node: its parts as JSON, so that no two ids are equal by accident."""
    return json.dumps([namespace, *parts], separators=(",", ":"))


def rows_of(
    entries: Sequence[LogEntry], before: Mapping[StepKey, LatestAttempt] | None = None
) -> tuple[Rows, dict[StepKey, LatestAttempt]]:
    """Read nodes, edges and tallies from episodes.

    Args:
        entries: A step's attempts in order; steps may be mixed.
        before: The latest attempt of steps that had attempts before these entries.

    Returns:
        The rows of these entries alone, and the latest attempts with them.
    """
    rows = Rows()
    latest = dict(before or {})
    for entry in entries:
        episode = entry.episode
        key = StepKey(episode.namespace, episode.run, episode.step)
        _add_step(rows, episode)
        name, symptom = _add_attempt(rows, entry)
        last = latest.get(key)
        if last is not None:
            rows.edge("PRECEDED_BY", name, last.attempt)
            if last.symptom is not None and episode.attempt > last.number:
                _add_mitigation(rows, entry, last.symptom, symptom)
        latest[key] = LatestAttempt(name, episode.attempt, symptom)
    return rows, latest


def _add_step(rows: Rows, episode: Episode) -> None:
    space, run = episode.namespace, episode.run
    run_node = rows.node("Run", space, run)
    step = rows.node("Step", space, run, episode.step)
    rows.edge("PART_OF", step, run_node)
    for upstream in episode.upstream:
        source = rows.node("Step", space, run, upstream)
        rows.edge("PART_OF", source, run_node)
        rows.edge("DERIVED_FROM", step, source)


def _add_attempt(rows: Rows, entry: LogEntry) -> tuple[str, str | None]:
    position, episode = entry
    space = episode.namespace
    name = rows.node(
        "Attempt",
        space,
        position,
        episode.attempt,
        episode.task_type,
        episode.tier,
        episode.cause or "",
        episode.succeeded,
        str(episode.category or ""),
        episode.reward,
        episode.ended_at,
        key=episode.key,
    )
    rows.edge("TRY_OF", name, node_id(space, episode.run, episode.step))
    rows.edge("TRIED_BY", name, rows.node("Persona", space, episode.persona))
    rows.edge("RAN_ON", name, rows.node("Model", space, episode.model))
    for gate in sorted({outcome.gate for outcome in episode.gates}):
        rows.node("Gate", space, gate)
    if episode.succeeded:
        return name, None
    for category, gate in _failure_modes(episode):
        mode = rows.node("FailureMode", space, category, gate)
        rows.edge("FAILED_BY", name, mode)
        if gate:
            rows.edge("FOUND_BY", mode, rows.node("Gate", space, gate))
    symptom = rows.node("Symptom", space, symptom_text(episode))
    rows.edge("HAS_SYMPTOM", name, symptom)
    return name, symptom


def symptom_text(episode: Episode) -> str:
    """A failed episode's symptom; without a message, its categories and gates."""
    symptom = symptom_of(episode.error, (episode.model, episode.persona))
    if symptom:
        return symptom
    return "; ".join(f"{category} {gate}".strip() for category, gate in _failure_modes(episode))


def _failure_modes(episode: Episode) -> list[tuple[str, str]]:
    """A failure's categories, each with the gate that found it, "" for none."""
    own = str(episode.category or "UNKNOWN")
    found = [
        (str(outcome.category or own), outcome.gate)
        for outcome in episode.gates
        if outcome.status in ("failed", "error")
    ]
    return sorted(set(found)) or [(own, "")]


def _add_mitigation(
    rows: Rows, entry: LogEntry, symptom_before: str, symptom_after: str | None
) -> None:
    position, episode = entry
    action = episode.cause
    if action is None or action in _NO_MITIGATION:
        return
    target = ""
    if action in _TARGETED:
        target = episode.tier if action == "ESCALATE" else episode.persona
    mitigation = rows.node("Mitigation", episode.namespace, action, target)
    worked = symptom_after is None
    tally = MitigationTally(
        1, int(worked), int(symptom_after == symptom_before), position if worked else 0
    )
    rows.tallies[symptom_before, mitigation] = rows.tallies[symptom_before, mitigation].plus(tally)
