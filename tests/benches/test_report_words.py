"""The words of docs/reference/benchmarks.md are those that its benches write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHES = ROOT / "benches"
FIELD = "\0"
"""Stands for a figure that a bench fills in."""


def _sections() -> dict[str, str]:
    page = (ROOT / "docs/reference/benchmarks.md").read_text("utf-8")
    parts = re.split(r"^<!-- (\w+) -->\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = _sections()


def _texts(name: str) -> Iterator[str]:
    single = BENCHES / f"{name}.py"
    for path in [single] if single.exists() else sorted((BENCHES / name).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.List(elts=lines):
                    yield "\n".join(_text(line) for line in lines)
                case ast.Constant(value=str()) | ast.JoinedStr():
                    yield _text(node)
                case _:
                    pass


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{+[^{}]+\}+", FIELD, text)
        case ast.JoinedStr(values=parts):
            return re.sub(r"\{[^{}]+\}", FIELD, "".join(map(_text, parts)))
        case _:
            return FIELD


def _paragraphs(text: str) -> list[str]:
    """Return the words of a section: no tables, figures of a run, notes or commands."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return [part for part in parts if part and not part.startswith(("|", "- ", "`", "Note:"))]


def _pattern(paragraph: str) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, paragraph.split(FIELD))))


@pytest.mark.parametrize("name", SECTIONS)
def test_the_words_of_a_section_are_those_of_its_bench(name: str) -> None:
    written = {
        paragraph
        for text in _texts(name)
        for paragraph in _paragraphs(text)
        if len(paragraph.replace(FIELD, "").split()) > 1
    }
    patterns = [_pattern(paragraph) for paragraph in written]
    unknown = [
        paragraph
        for paragraph in _paragraphs(SECTIONS[name])
        if not any(pattern.fullmatch(paragraph) for pattern in patterns)
    ]
    assert unknown == []


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_ends_with_its_command_and_what_it_ran_on(name: str) -> None:
    last = SECTIONS[name].strip().splitlines()[-1]
    assert last.startswith(f"`python benches/run.py {name}` · ")
    assert "cores" in last
