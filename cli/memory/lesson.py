"""`prefect-swarm memory lesson`: what a model is told of an attempt, and what speaks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...memory.configured import open_configured_store
from ..command import AsJson
from ..output.printing import print_json
from .options import AsHtml, Namespace, entries_of, outcome, say_empty, short
from .show import attempts_of_run, named_attempts

if TYPE_CHECKING:
    from ...memory.episode import Episode
    from ...tasks.report.remembered.lesson import LessonView

__all__ = ["show_lesson"]


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
    """Show what a model is told of an attempt, of which attempts that is made, and its worth."""
    from ...tasks.report.remembered.lesson import lesson_page, lesson_view
    from .printed import print_page, write_page

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
        print_json({"namespace": namespace, "lesson": _record(view)})
        return 0
    if html is not None:
        return write_page(html, lesson_page(view))
    print_page(lesson_page(view))
    return 0


def _record(view: LessonView) -> dict[str, Any]:
    return {
        "attempt": short(view.entry.episode.key),
        "text": view.text,
        "q": view.q,
        "made_of": view.entry.episode.model_dump(mode="json"),
        "shown_to": [_brief(episode) for episode in view.shown],
        "alike": [_brief(episode) for episode in view.alike],
    }


def _brief(episode: Episode) -> dict[str, Any]:
    found = episode.model_dump(mode="json", include={"persona", "tier", "reward", "prompt"})
    return {"attempt": short(episode.key), "outcome": outcome(episode), **found}
