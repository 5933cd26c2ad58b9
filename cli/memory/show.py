"""`prefect-swarm memory show`: all that is remembered of a run, a step or an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InputError
from ...memory.episode import Episode, EpisodeKey, LogEntry, Selection
from ...memory.erasure import find_run_id
from ...memory.store import open_configured_store
from ...plan.ids import is_step_id, steps_above
from ...text import count_in, duration, plural
from ..command import AsJson, as_step_id
from ..terminal.printing import print_json, print_section, print_text
from .options import AsHtml, Namespace, entries_of, outcome, say_empty, short
from .stats import graph_of

if TYPE_CHECKING:
    from ...memory.episode import Episode
    from ...memory.graph import KuzuGraph
    from ...memory.store import Store
    from ...report.memory_pages import LessonView

__all__ = ["attempts_of_run", "named_attempts", "show", "show_lesson"]


def attempts_of_run(store: Store, namespace: str, name: str) -> list[LogEntry]:
    """Return all attempts of the run that a name begins with.

    Raises:
        InputError: The name is none, or no run or several have it.
    """
    run, _, _ = _apart(store, namespace, name)
    return store.log.select(namespace, Selection(run=run))


def named_attempts(
    store: Store, namespace: str, name: str, of_run: Sequence[LogEntry]
) -> list[LogEntry]:
    """Return the attempts of a run that a name means: all, a step's, or that attempt.

    Raises:
        InputError: There is none.
    """
    _, step, attempt = _apart(store, namespace, name)
    found = [
        entry
        for entry in of_run
        if step in (None, as_step_id(entry.episode.step), *steps_above(entry.episode.step))
        and attempt in (None, entry.episode.attempt)
    ]
    if not found:
        names = [f"{e.episode.step}.{e.episode.attempt}" for e in of_run]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        attempts = f"{', '.join(names[:_NAMED])}{more}"
        raise InputError(
            f"The memory has nothing about {name!r}.", f"Of that run there is {attempts}."
        )
    return found


_NAMED = 40


def _apart(store: Store, namespace: str, name: str) -> tuple[str, str | None, int | None]:
    """Take RUN/STEP.ATTEMPT apart."""
    head, slash, tail = name.strip().rpartition("/")
    if not slash:
        return find_run_id(store.log, namespace, tail), None, None
    if is_step_id(typed := as_step_id(tail)):
        return find_run_id(store.log, namespace, head), typed, None
    step, dot, number = tail.rpartition(".")
    attempt = count_in(number)
    if dot and attempt is None:
        raise InputError(f"{name!r} names no attempt.", "Write it as RUN/STEP.ATTEMPT: 12ab/S1.2")
    run = find_run_id(store.log, namespace, head)
    return run, as_step_id(step or tail), attempt if dot else None


def show(
    name: Annotated[
        str,
        typer.Argument(metavar="RUN[/STEP[.ATTEMPT]]", help="A run, a step or an attempt of it."),
    ],
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> int:
    """Show an episode: attempt, result, memories used, and repairs."""
    with open_configured_store() as store:
        if not store.log.count(namespace):
            if as_json:
                print_json({"namespace": namespace, "episodes": []})
            else:
                say_empty(namespace)
            return 0
        of_run = attempts_of_run(store, namespace, name)
        wanted = named_attempts(store, namespace, name, of_run)
        run = wanted[0].episode.run
        records = [_record(store, entry, of_run) for entry in wanted]
        with graph_of(store) as graph:
            _add_mitigations(graph, wanted, records)
            sources = _sources(graph, wanted)
    if as_json:
        print_json(
            {"namespace": namespace, "run": run, "episodes": records, "derived_from": sources}
        )
        return 0
    for entry, record in zip(wanted, records, strict=True):
        _print(entry.episode, record)
    _print_sources(sources)
    return 0


def _record(store: Store, entry: LogEntry, of_run: Sequence[LogEntry]) -> dict[str, Any]:
    episode = entry.episode
    after = _next(episode, of_run)
    return {
        "position": entry.position,
        **episode.model_dump(mode="json"),
        "used": [_used(store, episode.namespace, key) for key in episode.used],
        "repaired_by": _repaired_by(episode, after),
        "next": after and _brief(after),
    }


def _next(episode: Episode, of_run: Sequence[LogEntry]) -> Episode | None:
    later = [
        other
        for _, other in of_run
        if other.step == episode.step and other.attempt > episode.attempt
    ]
    return min(later, key=lambda other: other.attempt, default=None)


def _repaired_by(episode: Episode, after: Episode | None) -> dict[str, Any] | None:
    """What followed a failure, if that succeeded; failing otherwise is not a repair."""
    return _brief(after) if after and after.succeeded and not episode.succeeded else None


def _brief(episode: Episode) -> dict[str, Any]:
    return {
        "attempt": short(episode.key),
        "cause": episode.cause,
        "persona": episode.persona,
        "tier": episode.tier,
        "outcome": outcome(episode),
    }


def _used(store: Store, namespace: str, key: EpisodeKey) -> dict[str, Any]:
    found = store.log.get(namespace, key)
    used = _brief(found.episode) if found else {"attempt": short(key), "outcome": "forgotten"}
    return {**key._asdict(), "name": used.pop("attempt"), **used}


def _add_mitigations(
    graph: KuzuGraph | None, wanted: Sequence[LogEntry], records: Sequence[dict[str, Any]]
) -> None:
    """Add what has been done about the same symptom before."""
    from ...memory.graph import mitigations, tallies_in
    from ...memory.graph_rows import symptom_text

    tallies = tallies_in(graph, wanted[0].episode.namespace) if graph and wanted else {}
    for entry, record in zip(wanted, records, strict=True):
        episode = entry.episode
        known = [] if episode.succeeded else mitigations(tallies, symptom_text(episode))
        record["known_mitigations"] = [
            mitigation.model_dump(exclude={"symptom", "example"}) for mitigation in known
        ]


def _sources(
    graph: KuzuGraph | None, wanted: Sequence[LogEntry]
) -> dict[str, list[dict[str, Any]]] | None:
    """Where each step's output came from; None without a graph, and no step it doesn't have."""
    from ...memory.graph import provenance
    from ...memory.graph_rows import node_id

    if graph is None:
        return None
    run, namespace = wanted[0].episode.run, wanted[0].episode.namespace
    indexed = graph.query(
        "MATCH (:Run {id: $run})<-[:PART_OF]-(s:Step)<-[:TRY_OF]-(:Attempt) "
        "RETURN DISTINCT s.step AS step",
        {"run": node_id(namespace, run)},
    )
    steps = dict.fromkeys(entry.episode.step for entry in wanted)
    return {
        step: [source._asdict() for source in provenance(graph, namespace, run, step)]
        for step in steps
        if step in {row["step"] for row in indexed}
    }


def _print(episode: Episode, record: dict[str, Any]) -> None:
    print_section(f"{short(episode.key)} {episode.persona}: {outcome(episode)}")
    for label, text in _lines(episode, record):
        if text:
            print_text(f"{label:<12} {text}")


def _lines(episode: Episode, record: dict[str, Any]) -> list[tuple[str, str]]:
    when = datetime.fromtimestamp(episode.ended_at).astimezone()
    gates = [f"{gate.gate} {gate.category or gate.status}" for gate in episode.gates]
    terms = [f"{name} {value:+.2f}" for name, value in episode.terms.items()]
    ran = duration(episode.duration_s)
    return [
        ("prompt", episode.prompt),
        ("objective", episode.objective),
        ("run", f"{episode.run}, position {record['position']:,} of {episode.namespace}'s memory"),
        ("type", f"{episode.task_type}, output {episode.output}"),
        ("by", f"{episode.model} on tier {episode.tier}, revision {episode.revision} of the step"),
        ("ended", f"{when:%Y-%m-%d %H:%M:%S}, after {ran} of work"),
        ("tokens", f"{episode.input_tokens:,} read, {episode.output_tokens:,} written"),
        ("after", episode.cause or ""),
        ("error", episode.error),
        ("gates", ", ".join(gates)),
        ("decision", f"{episode.decision} by {episode.rule}" if episode.decision else ""),
        ("repaired by", _repair(record)),
        ("known", "; ".join(map(_known, record["known_mitigations"]))),
        ("reward", f"{episode.reward:+.2f}" + (f" = {' '.join(terms)}" if terms else "")),
        ("reads", ", ".join(episode.upstream)),
        ("read by", ", ".join(episode.downstream)),
        ("used", "; ".join(f"{used['name']} ({used['outcome']})" for used in record["used"])),
        ("artifact", episode.excerpt),
        ("SHA-256", episode.artifact),
    ]


def _repair(record: dict[str, Any]) -> str:
    if record["succeeded"]:
        return ""
    if (repair := record["repaired_by"]) is not None:
        return f"{repair['cause'] or 'another try'}, in {repair['attempt']}"
    if (after := record["next"]) is not None:
        return f"nothing; {after['cause'] or 'another try'} led to {after['outcome']}"
    return "nothing; it was the last attempt"


def _known(mitigation: dict[str, Any]) -> str:
    what = " ".join(filter(None, (mitigation["action"], mitigation["target"])))
    return (
        f"{what} has repaired such a failure {mitigation['worked']} of {mitigation['tried']} times"
    )


def _print_sources(sources: dict[str, list[dict[str, Any]]] | None) -> None:
    print_section("Derived from")
    if sources is None:
        print_text("There is no graph to ask. To build it: prefect-swarm memory rebuild")
        return
    if not sources:
        print_text("The graph doesn't have it yet. To bring it up: prefect-swarm memory rebuild")
    for step, found in sources.items():
        lines = [_source(source) for source in found]
        print_text(f"{step}: {', '.join(lines) or 'its own prompt alone'}")


def _source(source: dict[str, Any]) -> str:
    who = f" by {source['persona']}" if source["persona"] else ""
    far = "" if source["distance"] == 1 else f", {plural(source['distance'], 'step')} before"
    return f"{source['step']}{who}{far}"


def show_lesson(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN/STEP[.ATTEMPT]",
            help="The attempt that it is made of; without a number a step's last.",
        ),
    ],
    namespace: Namespace = "default",
    html: AsHtml = None,
    as_json: AsJson = False,
) -> int:
    """Show the lesson about an attempt, the attempts that it comes from, and its worth."""
    from ...report.memory_pages import lesson_page, lesson_view
    from .pages import print_page, write_page

    with open_configured_store() as store:
        if not store.log.count(namespace):
            if as_json:
                print_json({"namespace": namespace, "lesson": None})
            else:
                say_empty(namespace)
            return 0
        of_run = attempts_of_run(store, namespace, name)
        entry = named_attempts(store, namespace, name, of_run)[-1]
        q = store.beliefs(namespace).q_of_memory(entry.episode.key)
        view = lesson_view(entry, [*entries_of(store.log, namespace)], q)
    if as_json:
        print_json({"namespace": namespace, "lesson": _lesson_record(view)})
        return 0
    if html is not None:
        return write_page(html, lesson_page(view))
    print_page(lesson_page(view))
    return 0


def _lesson_record(view: LessonView) -> dict[str, Any]:
    return {
        "attempt": short(view.entry.episode.key),
        "text": view.text,
        "q": view.q,
        "made_of": view.entry.episode.model_dump(mode="json"),
        "shown_to": [_lesson_brief(episode) for episode in view.shown],
        "alike": [_lesson_brief(episode) for episode in view.alike],
    }


def _lesson_brief(episode: Episode) -> dict[str, Any]:
    found = episode.model_dump(mode="json", include={"persona", "tier", "reward", "prompt"})
    return {"attempt": short(episode.key), "outcome": outcome(episode), **found}
