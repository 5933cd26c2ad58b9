"""Each session that a page shows has the commands' output of today, by its shape."""

from __future__ import annotations

import pytest
from documented.commands import Command, commands, plain
from documented.fences import fences
from documented.stand_in import Answering

from .conftest import Typist
from .sessions import SESSIONS, Session
from .typed import reason_not_to

DEPLOYING = "docs/tutorials/deploy.md"
"""It needs a worker: test_deploying types it."""
PAGES: dict[str, list[Command]] = {}
for fence in fences("console"):
    if fence.page == DEPLOYING:
        continue
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
            code = session.code_of(command.text)
            found += typist.problems(command, ids, runs, code=code)
    assert found == [], "\n".join(found)
