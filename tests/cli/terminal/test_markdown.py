"""Markdown on a terminal: nothing that a model wrote is left out, and nothing steers it."""

from __future__ import annotations

import io

import pytest
from prefect_swarm.cli.terminal.markdown import drawn
from rich.console import Console


def lines(text: str) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=80).print(drawn(text))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def text_of(text: str) -> str:
    return "\n".join(lines(text))


@pytest.mark.parametrize(
    "text",
    [
        "A List<int> of them",
        "<b>bold</b> and <br> between",
        "<div>\nin a block\n</div>",
        "<script>x</script>",
        "<!-- a remark -->",
    ],
)
def test_html_and_what_looks_like_it_is_shown(text: str) -> None:
    shown = text_of(text).split()
    assert shown == text.split()


def test_lines_of_a_paragraph_stay_lines() -> None:
    assert lines("Rotterdam\nAntwerp\nHamburg")[:3] == ["Rotterdam", "Antwerp", "Hamburg"]


def test_links_and_pictures_say_where_they_lead() -> None:
    shown = text_of("before ![a pie](http://x.org/p.png) [there](http://y.org) after")
    assert shown == "before [picture: a pie] (http://x.org/p.png) there (http://y.org) after"


def test_no_link_is_written_as_a_terminal_s_own() -> None:
    file = io.StringIO()
    Console(file=file, force_terminal=True).print(drawn("[safe](http://evil.org)"))
    assert "\x1b]8" not in file.getvalue()


def test_tables_lists_and_code_are_drawn() -> None:
    shown = text_of("| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n\n```python\nx = 1\n```")
    assert "|---|" not in shown
    assert "• one" in shown
    assert "x = 1" in shown
    assert "```" not in shown
