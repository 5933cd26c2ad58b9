"""Output to a terminal or a pipe hides and steers nothing; files are unchanged."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import AsyncGenerator, Callable

import pytest
from hidden_texts import HIDDEN, LEGITIMATE, STEERING
from prefect_swarm.cli.command import FailureMessage, show
from prefect_swarm.cli.terminal.printing import (
    print_artifact,
    print_events,
    print_json,
    print_section,
    print_table,
    print_text,
)
from prefect_swarm.cli.terminal.screens import PlainScreen
from prefect_swarm.cli.terminal.session import say
from prefect_swarm.errors import ExitCode
from prefect_swarm.host.system import LOGGERS
from prefect_swarm.report.board import Board
from prefect_swarm.report.drawn_board import draw
from prefect_swarm.store.events import EndedEvent, RunEvent, TextEvent, ToolEvent
from prefect_swarm.text import visible
from rich.console import Console
from source_tree import modules

Print = Callable[[], None]
ATTACKS = {**HIDDEN, **STEERING}
# Emoji that stay where they are, with what makes them what they are.
_WITHOUT = ("\u2764\ufe0f", "\U0001f3f4")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def printed(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, print_it: Callable[[], None]
) -> str:
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "dumb")
    print_it()
    # The colour of errors is the command's own.
    return stream.getvalue().replace("\x1b[31mError: ", "Error: ").replace("\x1b[0m", "")


def all_ways(text: str) -> None:
    """Print a text in each way that a command has."""
    print_text(text)
    print_section(text, [text])
    print_table(("Name", text), [(text, text)])
    say(text)
    failure = FailureMessage(text, text, ExitCode.FAILED, "x")
    show(RuntimeError(text), failure, debug=True)
    PlainScreen("x", say).note(text)
    Console(markup=False, emoji=False, highlight=False).print(
        draw(Board(text), 1.0, 9, "", text), soft_wrap=True
    )


def is_plain(shown: str, hidden: str) -> bool:
    for emoji in _WITHOUT:
        shown = shown.replace(emoji, "")
    return visible(shown) == shown and (hidden in _WITHOUT or hidden not in shown)


@pytest.mark.attack("shown")
@pytest.mark.parametrize("hidden", ATTACKS.values(), ids=ATTACKS)
def test_a_terminal_shows_what_hides_or_steers(
    hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = printed(Terminal(), monkeypatch, lambda: all_ways(f"ap{hidden}prove"))
    assert is_plain(shown, hidden)
    assert "\\u" in shown or "\\U" in shown


@pytest.mark.attack("shown")
@pytest.mark.parametrize("name", ["right-to-left-override", "tag", "zero-width-space", "colour"])
def test_a_pipe_shows_it_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"ap{ATTACKS[name]}prove"
    assert is_plain(printed(io.StringIO(), monkeypatch, lambda: all_ways(text)), ATTACKS[name])


def events_with(text: str) -> list[RunEvent]:
    return [
        TextEvent(run="r", step="S1", text=text),
        ToolEvent(run="r", step="S1", tool=text, arguments=text, result=text, outcome="returned"),
        EndedEvent(run="r", step="S1", kind="failed", reason=text),
    ]


def print_all(text: str, *, as_json: bool) -> None:
    async def read() -> AsyncGenerator[RunEvent]:
        for event in events_with(text):
            yield event

    print_events(read, began_at=0.0, as_json=as_json)


@pytest.mark.attack("shown")
@pytest.mark.parametrize("hidden", ATTACKS.values(), ids=ATTACKS)
def test_json_has_it_as_escapes_and_is_the_same_data(
    hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"ap{hidden}prove"
    if hidden != "\ud800":  # An event has no half of a character.
        shown = printed(io.StringIO(), monkeypatch, lambda: print_all(text, as_json=True))
        assert is_plain(shown, hidden)
        assert json.loads(shown.split("\n")[0])["text"] == text
    document = printed(io.StringIO(), monkeypatch, lambda: print_json({"text": text}))
    assert is_plain(document, hidden)
    assert json.loads(document) == {"text": text}


@pytest.mark.attack("shown")
@pytest.mark.parametrize("text", ["[red]no[/red]", "[link=https://e.example]x[/link]", ":smile:"])
def test_a_terminal_shows_richs_markup_as_words(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(Terminal(), monkeypatch, lambda: all_ways(text))
    assert text in shown
    assert "\x1b" not in shown


@pytest.mark.attack("shown")
@pytest.mark.parametrize("text", ["x\nRun it? yes", "x\r\nRun it? yes"])
def test_a_title_forges_no_line_of_its_own(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(io.StringIO(), monkeypatch, lambda: print_section(text, [text]))
    assert not any(line.startswith("Run it?") for line in shown.splitlines())


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_legitimate_text_is_printed_as_it_is(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(io.StringIO(), monkeypatch, lambda: print_text(text)) == f"{text}\n"


@pytest.mark.parametrize("hidden", [*HIDDEN.values(), *STEERING.values()], ids=ATTACKS)
def test_an_answer_in_a_file_is_the_artifact_itself(
    hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"ap{hidden}prove\r\n"
    assert printed(io.StringIO(), monkeypatch, lambda: print_artifact(text)) == f"{text}\n"


@pytest.mark.attack("shown")
@pytest.mark.parametrize("name", ["colour", "title", "return", "right-to-left-override", "tag"])
def test_an_answer_at_a_terminal_steers_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"ap{ATTACKS[name]}prove"
    shown = printed(Terminal(), monkeypatch, lambda: print_artifact(text))
    assert is_plain(shown, ATTACKS[name])


@pytest.mark.attack("shown")
@pytest.mark.parametrize("name", ["colour", "title", "return", "right-to-left-override", "tag"])
@pytest.mark.parametrize("logger", ["runs", "tools", "toolsets"])
def test_a_line_of_a_log_shows_it_too(
    name: str, logger: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"ap{ATTACKS[name]}prove"
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger(f"prefect_swarm.{logger}").warning("A tool: %s", text, exc_info=True)
    assert is_plain(caplog.text, ATTACKS[name])
    assert "A tool: ap" in caplog.text


def test_all_loggers_of_the_package_are_known() -> None:
    named = {
        part.partition('"')[0]
        for path in modules().values()
        for part in path.read_text("utf-8").split('getLogger("prefect_swarm.')[1:]
    }
    assert named == set(LOGGERS)
