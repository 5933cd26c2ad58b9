"""Pictures of a terminal are drawn of pieces of text: where they stand and how they look."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHES)
    return import_module("pictures.terminal")


def first_line(terminal: Any, text: str) -> tuple[Any, ...]:
    screen = terminal.Terminal(40, 3)
    screen.show(text)
    return screen.lines()[0]


def test_columns_are_pieces_of_their_own(terminal: Any) -> None:
    line = first_line(terminal, "S1 of two  running   1.2 s")
    assert [(span.column, span.text) for span in line] == [
        (0, "S1 of two"),
        (11, "running"),
        (21, "1.2 s"),
    ]


def test_blocks_are_pieces_of_their_own(terminal: Any) -> None:
    line = first_line(terminal, "|███   |")
    assert [(span.column, span.text) for span in line] == [(0, "|"), (1, "███"), (7, "|")]


def test_a_wide_character_takes_two_columns(terminal: Any) -> None:
    (span,) = first_line(terminal, "そば 1")
    assert (span.text, span.columns) == ("そば 1", 6)


def test_what_is_overwritten_is_gone(terminal: Any) -> None:
    (span,) = first_line(terminal, "planning\r\x1b[2Krunning")
    assert span.text == "running"


@pytest.mark.parametrize(
    ("codes", "look"),
    [
        ("1;36", {"colour": "cyan", "bold": True}),
        ("2", {"dim": True}),
        ("4", {"underlined": True}),
        ("7", {"colour": "background", "ground": "foreground"}),
        ("38;5;2", {"colour": "00cd00"}),
        ("38;2;2;2;2", {"colour": "020202"}),
        ("48;5;2;2", {"ground": "00cd00", "dim": True}),
    ],
)
def test_looks_are_read(terminal: Any, codes: str, look: dict[str, Any]) -> None:
    (span,) = first_line(terminal, f"\x1b[{codes}mtext\x1b[0m")
    assert span.look == terminal.Look(**look)


def test_a_ground_keeps_its_spaces(terminal: Any) -> None:
    (span,) = first_line(terminal, "\x1b[44m  a   b  \x1b[0m")
    assert span.text == "  a   b  "
