"""Asking the person at the terminal while a run can't go on without an answer."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout, suppress
from pathlib import Path

import typer

from ..errors import AnsweredError, InputError
from ..flows.control import AskPerson
from ..flows.plan_changes import current_plan, options_of, read_compiled, rules_of
from ..host.system import without_login
from ..plan.documents import marked, plan_text, problems_of, without_marks
from ..plan.task_ir import PlanRules, TaskIR
from ..store.approvals import Approvals
from ..store.attempt import excerpt
from ..store.protocol import RunStore
from ..store.question import MOST_SHOWN, Answer, Question, RunWaitingError, Verdict
from ..text import visible
from .approval_choice import read_whole
from .terminal.plan import estimate_line, print_plan
from .terminal.printing import print_section, print_text

__all__ = [
    "at_terminal",
    "edit_in_editor",
    "is_at_terminal",
    "prompt_of",
]


async def edit_in_editor(
    plan: TaskIR, rules: PlanRules, say: Callable[[str], None]
) -> TaskIR | None:
    """Open an editor with a plan, again and again while what comes back is none.

    Args:
        say: Tells of problems.

    Returns:
        The edited plan; None if it was left as it is, or emptied, or there is no editor.
    """
    original = text = plan_text(plan)
    while True:
        try:
            text = await asyncio.to_thread(_edit, text)
        except InputError as error:
            say(str(error))
            return None
        bare = without_marks(text)
        if not bare.strip() or bare == original:
            return None
        found = problems_of(bare, plan, rules)
        if isinstance(found, TaskIR):
            return None if found == plan else found
        for problem in found:
            say(str(problem))
        text = marked(bare, found)


def _edit(text: str) -> str:
    """Return what the user makes of a text.

    Raises:
        InputError: There is no editor, or it failed.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-") as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(text, "utf-8")
        try:
            command = [*shlex.split(editor), str(path)]
            done = subprocess.run(command, check=False, env=without_login())  # noqa: S603 - the user's own
            if done.returncode:
                raise InputError(
                    f"The editor {editor!r} ended with {done.returncode}.", "The plan stays."
                )
            return path.read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InputError(
                f"The editor {editor!r} can't be used: {error}.", "Set EDITOR."
            ) from None


_CHUNK = 4096


def is_at_terminal() -> bool:
    """Say whether somebody can be asked: they see standard error, and type standard input."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def at_terminal(paused: Callable[[], AbstractContextManager[None]]) -> AskPerson:
    """Return what asks at the terminal; `paused` holds the progress back meanwhile."""

    async def ask(run: RunStore, questions: tuple[Question, ...]) -> None:
        if not questions:
            raise RunWaitingError(run.run_id, questions)
        with paused():
            await _ask(run, questions[0])

    return ask


async def _ask(run: RunStore, question: Question) -> None:
    _show(run, question)
    _forget_typed()
    while True:
        choice = (await _line(run, question, prompt_of(question))).strip().casefold()
        if choice in ("y", "yes") and _is_whole(question):
            why = ""
            if question.asked == "failure":
                why = await _line(run, question, "What should the next attempt know? ")
            return _answer(run, question, "approved", why=why)
        if choice in ("n", "no"):
            why = await _line(run, question, "Why? ")
            return _answer(run, question, "rejected", why=why)
        if choice in ("e", "edit") and question.asked == "plan":
            before = current_plan(run)
            plan = await edit_in_editor(before, rules_of(run), _say)
            if plan is not None:
                data = plan.model_dump(mode="json", exclude={"inputs"})
                return _answer(run, question, "edited", plan=data)
            _say("The plan is as it was.")


def _show(run: RunStore, question: Question) -> None:
    # Standard output has the answer of the run, or its events.
    with redirect_stdout(sys.stderr):
        compiled = read_compiled(kept.plan if (kept := run.plan()) else {})
        if question.asked == "plan" and compiled is not None:
            print_plan(compiled)
        print_section(question.title)
        print_text(excerpt(question.text, MOST_SHOWN))
        if not _is_whole(question):
            print_text(f"That is too long to be approved here. {read_whole(run.run_id, question)}")
        if question.asked == "plan" and compiled is not None:
            print_text(estimate_line(compiled, options_of(run)))


def _is_whole(question: Question) -> bool:
    return len(question.text) <= MOST_SHOWN and not question.left_out


def _forget_typed() -> None:
    """Forget what was typed before a question was shown: it is not an answer to that."""
    with suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def prompt_of(question: Question) -> str:
    """Return what a person is asked to type: to go on only with what was shown whole."""
    edit = ", [e]dit" if question.asked == "plan" else ""
    what = {"plan": "Run it?", "failure": "Try once more?"}.get(question.asked, "Go on?")
    yes = "[y]es, " if _is_whole(question) else ""
    return f"{what} {yes}[n]o{edit}: "


def _answer(
    run: RunStore,
    question: Question,
    verdict: Verdict,
    *,
    why: str = "",
    plan: dict[str, object] | None = None,
) -> None:
    answer = Answer(
        question=question.id,
        subject=question.subject,
        verdict=verdict,
        why=why.strip(),
        plan=plan,
        by="terminal",
        at=time.time(),
    )
    try:
        Approvals(run).answer(answer)
    except AnsweredError as error:
        _say(str(error))


async def _line(run: RunStore, question: Question, prompt: str) -> str:
    """Return what is typed in a line; another answer may come first and cancel it.

    Raises:
        RunWaitingError: Standard input has ended: nobody is there any more.
    """
    typer.echo(prompt, err=True, nl=False)
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    typed = sys.stdin.fileno()
    loop.add_reader(typed, came.set)
    try:
        await came.wait()
    except asyncio.CancelledError:
        _say("")
        raise
    finally:
        loop.remove_reader(typed)
    data = os.read(typed, _CHUNK)
    if not data:
        _say("")
        raise RunWaitingError(run.run_id, (question,))
    return data.decode("utf-8", "replace")


def _say(text: str) -> None:
    typer.echo(visible(text), err=True)
