"""YAML is plain data within bounds, read as a person means it, or an error with line and column."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.evals.cases import read_cases
from prefect_swarm.memory.personas.model import load_persona
from prefect_swarm.plan.documents import plan_text, problems_of
from prefect_swarm.plan.task_ir import PlanRules, TaskIR, parse_plan
from prefect_swarm.store.failure_policy import load_policy
from prefect_swarm.untrusted import yaml_text
from prefect_swarm.untrusted.yaml_text import NoYamlError, read_yaml

PLAN = parse_plan(
    {
        "objective": "Do it",
        "agents": [{"name": "Ann", "system_prompt": "You do it."}],
        "steps": [{"id": "S1", "agent": "Ann", "prompt": "Do part 1"}],
    }
)
LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
ATTACKS = {
    "billion laughs": (LAUGHS, 1, 4, "names a place"),
    "an alias alone": ("a: *x", 1, 4, "repeats another place"),
    "an anchor alone": ("a:\n  b: &x 1", 2, 6, "names a place"),
    "a mapping in itself": ("&a {b: *a}", 1, 1, "names a place"),
    "a merge": ("a: 1\n<<: {b: 2}", 2, 1, "takes over another mapping"),
    "a number of a million digits": (f"a: {'7' * 1_000_000}", 1, 4, "1,000,000 digits"),
    "a hexadecimal number without end": (f"a: 0x{'f' * 9000}", 1, 4, "digits is too long"),
    "an infinite number": ("a: .inf", 1, 4, "not a number that JSON can hold"),
    "no number": ("a: [1, .nan]", 1, 8, "not a number that JSON can hold"),
    "a number that overflows": ("a: 1e999", 1, 4, "larger than a number can be"),
    "a key twice": ("a: 1\nb: 2\na: 3", 3, 1, "'a' is there twice, first in line 1"),
    "a key twice, written otherwise": ("1: a\n'1': b", 2, 1, "'1' is there twice"),
    "a list as a key": ("? [a]\n: 1", 1, 3, "not a key"),
    "bytes": ("a: !!binary aGk=", 1, 4, "!!binary is for programs"),
    "a Python object": ("a: !!python/object/apply:os.system [x]", 1, 4, "is for programs"),
    "a tag of its own": ("!cmd {a: 1}", 1, 1, "!cmd is for programs"),
    "a tag by another name": (
        "%TAG ! tag:yaml.org,2002:python/\n--- !name:os.system x",
        2,
        5,
        "is for programs",
    ),
    "a set": ("a: !!set {x}", 1, 4, "!!set is for programs"),
    "a tag for a date": ("a: !!timestamp 2001-01-01", 1, 4, "is for programs"),
    "a tag that doesn't fit": ("a: !!int abc", 1, 4, "is not of type int"),
    "lists in lists": ("[" * 100_000, 1, 101, "nested over 100 levels"),
    "mappings in mappings": ("{" * 5_000, 1, 101, "nested over 100 levels"),
    "lists of blocks": ("- " * 5_000 + "x", 1, 201, "nested over 100 levels"),
    "keys in keys": ("? " * 5_000, 1, 201, "nested over 100 levels"),
    "nine million characters": ("a" * (9 << 20), 1, 1, "characters"),
    "NUL": ("a: 1\nb: \0", 2, 4, "write it as an escape"),
    "a control character": ("a: \x1b[2J", 1, 4, "write it as an escape"),
    "half of a character": ("a: \ud800", 1, 4, "write it as an escape"),
    "half of a character, escaped": ('a: "\\ud800"', 1, 4, "half of a character"),
    "half of a character in a key": ('"\\ud800": 1', 1, 1, "half of a character"),
    "an escape for no character": ('a: "\\UFFFFFFFF"', 1, 7, "stands for no character"),
    "an escape beyond Unicode": ('a: "\\U00110000"', 1, 7, "stands for no character"),
    "a tab": ("a:\n\t- b", 2, 1, "not by tabs"),
    "two documents": ("--- a\n--- b", 2, 1, "give one document"),
    "another version": ("%YAML 9.9\n--- a", 1, 1, "incompatible"),
    "a list without an end": ("a: [b", 1, 6, "expected"),
    "a text without an end": ("a: 'b", 1, 6, "unexpected end"),
}


@pytest.mark.parametrize(("text", "line", "column", "why"), ATTACKS.values(), ids=ATTACKS)
@pytest.mark.attack("parsers")
def test_what_is_no_plain_data_is_refused_with_its_place(
    text: str, line: int, column: int, why: str
) -> None:
    with pytest.raises(NoYamlError, match=why) as caught:
        read_yaml(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert len(str(caught.value)) < 400


@pytest.mark.attack("parsers")
def test_so_many_values_are_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "_MOST_VALUES", 100)
    assert len(read_yaml("[" + "a," * 99 + "]").value) == 99
    with pytest.raises(NoYamlError, match="line 1, column 200: it has over 100 values"):
        read_yaml("[" + "a," * 100 + "]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("y", "y"),
        ("12:30:45", "12:30:45"),
        ("2026-11-26", "2026-11-26"),
        ("2026-11-26T10:00:00Z", "2026-11-26T10:00:00Z"),
        ("007", "007"),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", 1000),
        ("+5", 5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("~", None),
        ("=", "="),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("1.2.3", "1.2.3"),
        ("\u0661", "\u0661"),
    ],
)
@pytest.mark.attack("parsers")
def test_what_has_no_quotes_is_what_a_person_means(text: str, value: object) -> None:
    found = read_yaml(f"a: {text}").value["a"]
    assert (found, type(found)) == (value, type(value))


def test_keys_are_texts_as_in_json() -> None:
    assert read_yaml("{1: a, on: b, null: c, 2026-01-01: d}").value == {
        "1": "a",
        "on": "b",
        "null": "c",
        "2026-01-01": "d",
    }


def test_a_mark_at_the_beginning_and_nothing_at_all_are_read() -> None:
    assert read_yaml("\ufeffa: 1").value == {"a": 1}
    assert read_yaml("# nothing\n").value is None


def persona(path: Path) -> object:
    return load_persona(path)


def cases(path: Path) -> object:
    return read_cases(path, None, 10)


@pytest.mark.parametrize("load", [persona, cases, load_policy], ids=["persona", "cases", "policy"])
@pytest.mark.parametrize("attack", ["billion laughs", "lists in lists", "NUL", "a merge", "a tab"])
@pytest.mark.attack("parsers")
def test_each_file_of_yaml_says_its_name_and_place(
    tmp_path: Path, load: Callable[[Path], object], attack: str
) -> None:
    text, line, column, why = ATTACKS[attack]
    path = tmp_path / "it.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=why) as caught:
        load(path)
    assert str(path) in caught.value.problem
    assert f"line {line}, column {column}: " in caught.value.problem
    assert caught.value.fix


@pytest.mark.parametrize("attack", ["billion laughs", "a key twice", "a number that overflows"])
@pytest.mark.attack("parsers")
def test_an_edited_plan_says_the_line(attack: str) -> None:
    text, line, _, why = ATTACKS[attack]
    found = problems_of(text, PLAN, PlanRules())
    assert not isinstance(found, TaskIR)
    assert found[0].line == line
    assert why in found[0].problem


def test_a_word_for_a_truth_value_says_what_to_write() -> None:
    found = problems_of(plan_text(PLAN) + "    optional: yes\n", PLAN, PlanRules())
    assert not isinstance(found, TaskIR)
    assert any("write true or false" in each.problem for each in found)


@given(
    st.sampled_from(["no", "1e5", "0o17", "0x1", "12:30", "2026-01-01", "~", ".inf", "1e999", "<<"])
    | st.text(st.characters(codec="utf-8"), min_size=1).map(str.strip).filter(bool)
)
def test_a_plan_that_is_written_is_the_plan_that_is_read(prompt: str) -> None:
    data = PLAN.model_dump(mode="json")
    data["steps"][0]["prompt"] = prompt
    plan = parse_plan(data)
    assert problems_of(plan_text(plan), plan, PlanRules()) == plan


def seconds(text: str) -> float:
    """The shortest of three times that reading a text takes."""

    def once() -> float:
        begun = time.process_time()
        with suppress(NoYamlError):
            read_yaml(text)
        return time.process_time() - begun

    return min(once() for _ in range(3))


GROWING: dict[str, Callable[[int], str]] = {
    "keys": lambda n: "".join(f"k{i}: 1\n" for i in range(n)),
    "a line": lambda n: "a: " + "b c " * n,
    "quotes": lambda n: 'a: "' + '\\"' * n,
    "comments": lambda n: "#\n" * n + "a: 1",
    "flow": lambda n: "[" + "{a: b}, " * n + "]",
    "blanks": lambda n: "a:" + " " * n + "b",
}


@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING)
@pytest.mark.attack("parsers")
def test_four_times_the_text_takes_no_more_than_some_four_times_as_long(
    make: Callable[[int], Any],
) -> None:
    assert seconds(make(2_000)) < 9 * seconds(make(500)) + 0.01
