"""A recording becomes frames: what comes together is a frame, and waits are cut short."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHES)
    return import_module("pictures.frames")


@pytest.fixture
def asciicast(frames: Any) -> Any:
    return import_module("pictures.asciicast")


def cast(asciicast: Any, *outputs: tuple[float, str]) -> Any:
    return asciicast.Cast(20, 3, [asciicast.Output(*output) for output in outputs])


def shown(found: list[Any]) -> list[tuple[Any, str]]:
    """When frames are shown, and their first lines."""
    return [(pytest.approx(f.at_s), " ".join(span.text for span in f.lines[0])) for f in found]


def test_a_recording_is_read_as_it_was_written(asciicast: Any) -> None:
    written = cast(asciicast, (0.0, "\x1b[1mé\x1b[0m\r\n"), (1.25, "\u2028line"))
    assert asciicast.read_cast(asciicast.written_cast(written)) == written


def test_input_in_a_recording_is_no_output(asciicast: Any) -> None:
    text = '{"version": 2, "width": 9, "height": 2}\n[0.5, "i", "x"]\n[0.6, "o", "y"]\n'
    assert asciicast.read_cast(text).outputs == [asciicast.Output(0.6, "y")]


def test_another_version_is_refused(asciicast: Any) -> None:
    with pytest.raises(ValueError, match="version 1 of asciicast"):
        asciicast.read_cast('{"version": 1, "width": 9, "height": 2}\n')


def test_parts_that_come_together_are_a_frame(frames: Any, asciicast: Any) -> None:
    found = frames.frames(cast(asciicast, (0.0, "a"), (0.01, "b"), (1.0, "c")))
    assert shown(found) == [(0.01, "ab"), (1.0, "abc")]


def test_a_screen_that_stays_is_a_frame(frames: Any, asciicast: Any) -> None:
    found = frames.frames(cast(asciicast, (0.0, "a"), (1.0, "\ra"), (2.0, "b")))
    assert shown(found) == [(0.0, "a"), (2.0, "ab")]


def test_a_long_wait_is_cut(frames: Any, asciicast: Any) -> None:
    found = frames.frames(cast(asciicast, (0.0, "a"), (9.0, "b"), (10.0, "c"), (19.0, "d")))
    assert shown(frames.shortened(found, 2.0)) == [
        (0.0, "a"),
        (2.0, "ab"),
        (3.0, "abc"),
        (5.0, "abcd"),
    ]


def test_while_only_a_spinner_turns_it_is_a_wait(frames: Any, asciicast: Any) -> None:
    turning = [(float(number), f"\r{'⠋⠙⠹⠸⠼'[number % 5]} waiting") for number in range(8)]
    found = frames.frames(cast(asciicast, *turning, (8.0, "\r  over   ")))
    assert shown(frames.shortened(found, 2.0)) == [
        (0.0, "⠋ waiting"),
        (1.0, "⠙ waiting"),
        (2.0, "over"),
    ]
