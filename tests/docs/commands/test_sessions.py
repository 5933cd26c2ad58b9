"""Each session that a page shows has the commands' output of today, by its shape."""

from __future__ import annotations

import pytest
from documented.commands import Command, commands, plain
from documented.fences import fences
from documented.shape import differences, ids_in
from documented.stand_in import Answering

from .conftest import Typist
from .sessions import SESSIONS, Session
from .typed import reason_not_to

PAGES: dict[str, list[Command]] = {}
for fence in fences("console"):
    PAGES.setdefault(fence.page, []).extend(commands(fence))


@pytest.mark.parametrize("page", PAGES)
def test_it_is_as_a_reader_will_have_it(page: str, typist: Typist, models: Answering) -> None:
    session = SESSIONS.get(page, Session())
    models.reply = session.reply
    session.lay_out(typist.shell.folder)
    runs = typist.scene(session.scene)
    ids: dict[str, str] = {}
    found: list[str] = []
    for command in PAGES[page]:
        if reason_not_to(plain(command.text)) is None:
            found += _problems(command, session, typist, runs, ids)
    assert found == [], "\n".join(found)


def _problems(
    command: Command, session: Session, typist: Typist, runs: list[str], ids: dict[str, str]
) -> list[str]:
    code, output = typist.type(_with_ids(command.text, ids, runs), runs)
    wrong = differences(command.output or "", output, ids)
    if code != session.code_of(command.text):
        wrong.append(f"it ends with {code}")
    return [f"{command.where}: {problem}" for problem in [*wrong, *([output] if wrong else [])]]


def _with_ids(text: str, ids: dict[str, str], runs: list[str]) -> str:
    """Put today's ids in the places of the page's; the scene's run stands for an unknown one."""
    for shown in ids_in(text):
        text = text.replace(shown, ids.setdefault(shown, runs[-1] if runs else shown))
    return text
