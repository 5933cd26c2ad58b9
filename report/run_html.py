"""A run as HTML: from its folder, or from its result alone where there is no folder any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import RunDamagedError
from ..store.protocol import RunStore
from ..store.result import SwarmResult
from ..store.runs import find_run, open_run
from .html import fragment_html
from .html import report_html as document_html
from .members import step_page_names
from .page import Page, RunView, StepView
from .run_pages import answer_page, plan_page, timeline_page
from .step_page import step_page
from .stored_pictures import IN_DOCUMENT, IN_NOTEBOOK, PictureRoom
from .stored_view import view_of, view_of_result

__all__ = ["folder_html", "pages_of", "report_html"]


def report_html(run: SwarmResult | str, *, fragment: bool = False) -> str:
    """Return a run as HTML that needs no network: answer, graph, timeline, costs, and each step.

    Secrets are masked, long texts are cut, pictures are drawn as far as there is room for them, and
    nothing that a model wrote runs or is fetched.

    Args:
        run: A result, or the id of a stored run, which need not have ended.
        fragment: A smaller part for another document, as a notebook shows a result, in place of a
            whole document.

    Raises:
        RunNotFoundError: No run of that id is stored.
        RunDamagedError: A file of a run that was given by its id can't be read.
    """
    room = PictureRoom(IN_NOTEBOOK if fragment else IN_DOCUMENT)
    stored = isinstance(run, str)
    view = view_of(find_run(run), room=room) if stored else _view_of_result(run, room)
    return (fragment_html if fragment else document_html)(view, pages_of(view))


def folder_html(run: RunStore, *, is_running: bool = False) -> str:
    """Return a stored run as a whole document.

    Args:
        run: The run's folder.
        is_running: Whether a process works on it.

    Raises:
        RunDamagedError: A file of the run can't be read.
    """
    view = view_of(run, is_running=is_running, room=PictureRoom(IN_DOCUMENT))
    return document_html(view, pages_of(view))


def pages_of(view: RunView) -> Sequence[Page]:
    """Return the pages of a run that the Prefect UI shows as well.

    What the memory knows is left out: it is of other runs, and others may get the document.
    """
    view = replace(view, recall=None, taught=())
    named = step_page_names([step.state for step in view.steps])
    steps = [step_page(view, step) for step in view.steps if step.id in named]
    return [answer_page(view), plan_page(view), timeline_page(view), *steps]


def _view_of_result(result: SwarmResult, room: PictureRoom) -> RunView:
    """Read the texts of a result's folder where it has one; a damaged one is not needed."""
    try:
        view = view_of_result(open_run(result.flow_run_id), result, room=room)
    except RunDamagedError:
        view = view_of_result(open_run(result.flow_run_id).other(".none"), result)
    return replace(view, steps=tuple(map(_with_excerpt, view.steps)))


def _with_excerpt(step: StepView) -> StepView:
    """Show the excerpt that the result has where the whole output is not stored."""
    if step.output is not None or not step.state.excerpt:
        return step
    return replace(step, output=step.state.excerpt, output_chars=len(step.state.excerpt))
