"""`prefect-swarm docs`: each page that a message names is there, and each is found by a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prefect_swarm.cli.docs import find_page, topics
from prefect_swarm.errors import InputError

from .conftest import Invoke

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"prefect-swarm docs (\w+)")
_PAGE = re.compile(r"docs/(?:how-to|reference|tutorials|background)/\w+\.(?:md|schema\.json)")


def sources() -> list[Path]:
    outside = {"tests", "docs", "benches", "examples", "build"}
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*.py"))
    return [path for path in found if not outside & {*path.parts} and path.parts[0][0] != "."]


def test_every_page_that_a_message_names_is_there() -> None:
    named = {
        topic
        for path in sources()
        for topic in _NAMED.findall((ROOT / path).read_text("utf-8"))
        if topic != "TOPIC"
    }
    assert {"tools", "plan_language", "failures", "commands", "evaluate"} <= named
    assert all(find_page(topic).is_file() for topic in named)


def test_no_message_names_a_file_that_the_wheel_has_not() -> None:
    strings = [
        (path, line)
        for path in sources()
        for line in (ROOT / path).read_text("utf-8").splitlines()
        if _PAGE.search(line) and line.lstrip().startswith(('"', "'", 'f"', "help=", "_FORM"))
    ]
    assert strings == []


@pytest.mark.parametrize(
    ("topic", "page"),
    [
        ("tools", "how-to/tools"),
        ("how-to/deploy", "how-to/deploy"),
        ("docs/reference/gates.md", "reference/gates"),
        ("Plan Language", "reference/plan_language"),
        ("plan-language", "reference/plan_language"),
        ("glossary", "reference/glossary"),
    ],
)
def test_a_page_is_found_by_its_name(topic: str, page: str) -> None:
    assert find_page(topic) == topics()[page]


def test_a_name_that_several_pages_have_is_an_error_that_names_them() -> None:
    with pytest.raises(InputError, match="Name one: tutorials/deploy, how-to/deploy"):
        find_page("deploy")


def test_a_word_leads_to_the_pages_that_have_it() -> None:
    with pytest.raises(InputError, match=r"It is a word of .*how-to/batch"):
        find_page("jsonl")


@pytest.mark.parametrize("topic", ["", "../AGENTS", "/etc/passwd", "zzzzqqq", "how-to"])
def test_what_is_no_page_is_an_error(topic: str) -> None:
    with pytest.raises(InputError, match="There is no page"):
        find_page(topic)


def test_a_page_is_printed_as_it_stands_into_a_pipe(invoke: Invoke) -> None:
    result = invoke("docs", "turns")
    assert result.exit_code == 0
    assert result.stdout.rstrip() == (ROOT / "docs/how-to/turns.md").read_text("utf-8").rstrip()


def test_without_a_topic_the_pages_are_listed_with_their_titles(invoke: Invoke) -> None:
    listed = invoke("docs").stdout
    assert re.search(r"^how-to/tools +Tools", listed, re.MULTILINE)
    assert all(name in listed for name in topics())
