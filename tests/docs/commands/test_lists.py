"""Each command that a page lists without its output can be typed as it stands."""

from __future__ import annotations

import pytest
from documented.commands import commands, plain
from documented.fences import fences

from .conftest import Typist
from .typed import how_to_type, reason_not_to

IN_SESSIONS = {plain(command.text) for fence in fences("console") for command in commands(fence)}
FOUND = {
    plain(command.text): command.where
    for fence in fences("sh")
    for command in commands(fence)
    if plain(command.text) not in IN_SESSIONS
}


@pytest.mark.parametrize("command", [text for text in FOUND if reason_not_to(text) is None])
def test_it_ends_as_it_should(command: str, typist: Typist) -> None:
    how = how_to_type(command)
    code, output = typist.type(command, typist.scene(how.scene))
    assert code in how.codes, f"{FOUND[command]}: {command}\n{output}"
