"""The animation of a terminal: well-formed, still for who asks for that, and small."""

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "run.svg"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "benches")
    return import_module("pictures")


def drawing(pictures: Any, *outputs: tuple[float, str]) -> str:
    asciicast = import_module("pictures.asciicast")
    cast = asciicast.Cast(20, 3, [asciicast.Output(*output) for output in outputs])
    frames = import_module("pictures.frames").frames(cast)
    drawn = import_module("pictures.drawn").drawn
    return drawn(frames, columns=20, rows=3, end_s=3.0, label="A <terminal>")


def test_each_frame_is_shown_from_its_time_on(pictures: Any) -> None:
    svg = drawing(pictures, (0.0, "a"), (1.0, "b"), (2.0, "c"))
    assert "animation:play 5.00s step-end infinite" in svg
    assert re.findall(r"([\d.]+)%\{", svg) == ["0.000", "20.000", "40.000", "100"]


def test_whoever_wants_no_motion_sees_the_last_frame(pictures: Any) -> None:
    svg = drawing(pictures, (0.0, "a"), (1.0, "b"))
    (rest,) = re.findall(r"\.strip\{.*?transform:translateX\((-?\d+)px\);animation", svg)
    *_, last = re.findall(r'<g transform="translate\((\d+)\)">', svg)
    assert int(rest) == -int(last)
    assert "@media (prefers-reduced-motion:reduce){.strip{animation:none}}" in svg


def test_a_line_that_stays_is_drawn_once(pictures: Any) -> None:
    svg = drawing(pictures, (0.0, "first\r\n"), (1.0, "second\r\n"), (2.0, "third"))
    assert svg.count(">first</text>") == 1


def test_text_is_escaped(pictures: Any) -> None:
    tree = ElementTree.fromstring(
        drawing(
            pictures,
            (0.0, '<&"'),
        )
    )
    assert [text.text for text in tree.iter(f"{SVG}text")] == ['<&"']


def test_a_terminal_gives_its_size_and_what_it_shows(pictures: Any) -> None:
    record = import_module("pictures.recorded").record
    cast = record("sh -c 'stty size'", os.environ, columns=44, rows=7)
    assert "7 44\r\n" in "".join(output.text for output in cast.outputs)


def test_a_command_that_fails_is_no_picture(pictures: Any) -> None:
    record = import_module("pictures.recorded").record
    with pytest.raises(RuntimeError, match="sh ended with 3"):
        record("sh -c 'exit 3'", os.environ, columns=44, rows=7)


def test_the_picture_of_the_docs_is_well_formed_and_small() -> None:
    tree = ElementTree.parse(PICTURE).getroot()
    lines = {group.get("id") for group in tree.iter(f"{SVG}g")}
    shown = {str(use.get("href")).removeprefix("#") for use in tree.iter(f"{SVG}use")}
    assert shown
    assert shown <= lines
    assert PICTURE.stat().st_size < 300_000


def test_the_picture_of_the_docs_loads_nothing() -> None:
    assert not re.search(r"(?:href|src)=\"(?!#)|url\(|@import|<script", PICTURE.read_text("utf-8"))
