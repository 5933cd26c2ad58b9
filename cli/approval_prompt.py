"""The question that a person answers at the terminal while a run can't go on without.

Also the choice of the question that a command is about.
"""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, redirect_stdout, suppress
from typing import TYPE_CHECKING

import typer

from ..errors import AnsweredError, InputError
from ..plan.documents import marked, plan_text, problems_of, without_marks
from ..plan.procedure_steps import resolve_edit
from ..plan.task_ir import PlanRules, TaskIR
from ..store.approvals import Approvals
from ..store.attempt import excerpt
from ..store.procedures import find_procedure
from ..store.protocol import RunStore
from ..store.question import MOST_SHOWN, Answer, Question, RunWaitingError, Verdict
from ..store.requested import Content, ContentError, filled_in, value_in
from ..text import visible
from .editor import edit_text
from .terminal.plan import estimate_lines, print_plan
from .terminal.printing import print_section, print_text

if TYPE_CHECKING:
    from ..flows.control import AskPerson

__all__ = [
    "at_terminal",
    "chosen_question",
    "edit_in_editor",
    "is_at_terminal",
    "prompt_of",
    "require_read",
]


def chosen_question(approvals: Approvals, name: str | None) -> Question:
    """Return the question that is meant by a step's or a question's id; None is the only one.

    Args:
        name: In any case.

    Raises:
        InputError: The run asks nothing of that name, or several things.
    """
    pending, asked = approvals.pending(), approvals.questions()
    run_id = approvals.run.run_id
    if name is None:
        found = _plan_first(pending)
        if not found and len(asked) == 1:
            # It is answered already: another answer is refused with that.
            return asked[0]
    else:
        # An id that is answered already may be named.
        found = _named(pending, name) or _named(asked, name)[-1:]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(question.id for question in found)
        raise InputError(f"Run {run_id} waits for several answers: {names}.", "Name one of them.")
    what = f"nothing about {name!r}" if name else "nothing"
    waits = ", ".join(question.id for question in pending)
    advice = f"It waits for {waits}." if waits else f"See: prefect-swarm inspect {run_id}"
    raise InputError(f"Run {run_id} asks {what}.", advice)


def _read_whole(run_id: str, question: Question) -> str:
    """Say how a question is read that is too long for where it was to be shown."""
    return f"Read all of it: prefect-swarm waiting {run_id} {question.id}"


def require_read(run_id: str, question: Question, mark: str) -> None:
    """Require that a person who approves a long question has seen its end.

    Args:
        mark: The mark shown there; "" if they gave none.

    Raises:
        InputError: It is too long to be approved unread.
    """
    if len(question.text) <= MOST_SHOWN or mark == question.mark:
        return
    wrong = f" {mark!r} is not what stands below it." if mark else ""
    raise InputError(
        f"{question.id} of run {run_id} has {len(question.text):,} characters, and is approved "
        f"with the option --read, by what stands below them.{wrong}",
        f"{_read_whole(run_id, question)}",
    )


def _plan_first(pending: Sequence[Question]) -> Sequence[Question]:
    return [question for question in pending if question.asked == "plan"] or pending


def _named(questions: Sequence[Question], name: str) -> Sequence[Question]:
    wanted = name.casefold()
    exact = [question for question in questions if question.id.casefold() == wanted]
    return exact or [q for q in questions if q.step and q.step.casefold() == wanted]


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
            text = await asyncio.to_thread(edit_text, text, "plan")
        except InputError as error:
            say(str(error))
            return None
        bare = without_marks(text)
        if not bare.strip() or bare == original:
            return None
        found = resolve_edit(problems_of(bare, plan, rules), find_procedure, rules)
        if isinstance(found, TaskIR):
            return None if found == plan else found
        for problem in found:
            say(str(problem))
        text = marked(bare, found)


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
    from ..flows.plan_changes import current_plan, rules_of

    _show(run, question)
    _forget_typed()
    while True:
        choice = (await _line(run, question, prompt_of(question))).strip().casefold()
        if choice in ("y", "yes") and _is_whole(question):
            why = ""
            if question.asked == "failure":
                why = await _line(run, question, "What should the next attempt know? ")
            content = await _content(run, question)
            return _answer(run, question, "approved", why=why, content=content)
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


async def _content(run: RunStore, question: Question) -> Content | None:
    """Return what is typed for the fields of a question, one a line; None where it has none."""
    found: Content = {}
    for field in question.fields:
        while True:
            typed = await _line(run, question, f"{visible(field.prompt, strict=True)}: ")
            try:
                value = value_in(field, typed)
                found |= filled_in([field], {} if value is None else {field.name: value})
                break
            except ContentError as error:
                _say(str(error))
    return found or None


def _show(run: RunStore, question: Question) -> None:
    from ..flows.plan_changes import current_plan, options_of, read_compiled

    # Standard output has the answer of the run, or its events.
    with redirect_stdout(sys.stderr):
        compiled = read_compiled(stored.plan if (stored := run.plan()) else {})
        if question.asked == "plan" and compiled is not None:
            print_plan(compiled)
        print_section(question.title)
        print_text(excerpt(question.text, MOST_SHOWN))
        if not _is_whole(question):
            print_text(f"That is too long to be approved here. {_read_whole(run.run_id, question)}")
        if question.asked == "plan" and compiled is not None:
            for line in estimate_lines(current_plan(run), compiled, options_of(run)):
                print_text(line)


def _is_whole(question: Question) -> bool:
    return len(question.text) <= MOST_SHOWN and not question.left_out


def _forget_typed() -> None:
    """Forget what was typed before a question was shown: it is not an answer to that."""
    with suppress(termios.error):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


_PROMPTS = {"plan": "Run it?", "failure": "Try once more?", "elicitation": "Answer it?"}


def prompt_of(question: Question) -> str:
    """Return what a person is asked to type: to go on only with what was shown whole."""
    edit = ", [e]dit" if question.asked == "plan" else ""
    what = _PROMPTS.get(question.asked, "Go on?")
    yes = "[y]es, " if _is_whole(question) else ""
    return f"{what} {yes}[n]o{edit}: "


def _answer(
    run: RunStore,
    question: Question,
    verdict: Verdict,
    *,
    why: str = "",
    plan: dict[str, object] | None = None,
    content: Content | None = None,
) -> None:
    answer = Answer(
        question=question.id,
        subject=question.subject,
        verdict=verdict,
        why=why.strip(),
        plan=plan,
        content=content,
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
