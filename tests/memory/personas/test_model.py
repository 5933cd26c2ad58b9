"""A persona is a file that is read whole, or refused with the file and the field."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.memory.personas.model import (
    Persona,
    fits,
    load_persona,
    load_personas,
    skill,
    spelling,
)

POET = """\
name: poet
title: Poet
version: 2
task_types: [chat/text, doc/*]
aliases: [Verse Writer, "* Poet"]
instructions: >-
  You write verse.
  Count the syllables.
"""


def write(folder: Path, text: str, name: str = "poet") -> Path:
    folder.mkdir(exist_ok=True)
    (file := folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return file


def test_a_file_becomes_a_persona(tmp_path: Path) -> None:
    assert load_persona(write(tmp_path, POET)) == Persona(
        name="poet",
        title="Poet",
        version=2,
        task_types=("chat/text", "doc/*"),
        aliases=("Verse Writer", "* Poet"),
        instructions="You write verse. Count the syllables.",
    )


def test_a_persona_survives_json(tmp_path: Path) -> None:
    persona = load_persona(write(tmp_path, POET))
    assert Persona.model_validate_json(persona.model_dump_json()) == persona


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("name: poet", "name: Poet", "name: .*small letters"),
        ("name: poet", "name: poet-", "name: "),
        ("name: poet", "name: bard", "name: 'bard' is not the file's name"),
        ("name: poet", "nick: poet", "nick: "),
        ("version: 2", "gates: []", "gates: Extra inputs"),
        ("version: 2", "tools: []", "tools: Extra inputs"),
        ("title: Poet", "title: ''", "title: "),
        ("title: Poet", "title: 7", "title: .*string"),
        ("version: 2", "version: 0", "version: .*greater"),
        ("version: 2", "version: '2'", "version: .*integer"),
        ("version: 2", "", "version: .*required"),
        ("chat/text", "poetry/text", "task_types.0: .*'poetry/text' is not a task type"),
        ("chat/text", "chat", "task_types.0: .*'chat' is not a task type"),
        ("chat/text", "chat/verse", "task_types.0: .*text, json, python"),
        ("[chat/text, doc/*]", "[]", "task_types: .*at least 1"),
        ("[chat/text, doc/*]", "chat/text", "task_types: "),
        ("Verse Writer", "'!'", "aliases.0: .*no word"),
        ("Verse Writer", "'* '", "aliases.0: .*no word"),
        ("Verse Writer", "A * Writer", "aliases.0: .*only in front"),
        ("Verse Writer", "'* Poet'", "aliases: .*twice"),
        ("You write verse.\n  Count the syllables.", "  ", "instructions: "),
        ("title: Poet", "title: [", "not valid YAML"),
        ("title: Poet", "title: &poet Poet", "not valid YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_file_and_field(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    assert old in POET
    with pytest.raises(InputError, match=rf"poet\.yaml .*{why}"):
        load_persona(write(tmp_path, POET.replace(old, new)))


@pytest.mark.parametrize("text", ["", "poet", "- poet", "7"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"poet\.yaml breaks a rule"):
        load_persona(write(tmp_path, text))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (file := tmp_path / "poet.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"poet\.yaml can't be read"):
        load_persona(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml can't be read"):
        load_persona(tmp_path / "none.yaml")


def test_a_folder_is_read_by_name(tmp_path: Path) -> None:
    write(tmp_path, POET)
    write(
        tmp_path,
        POET.replace("poet", "bard").replace("Poet", "Bard").replace("Verse", "Song"),
        "bard",
    )
    write(tmp_path / "deeper", POET)
    (tmp_path / "notes.txt").write_text("none of these", encoding="utf-8")
    assert [persona.name for persona in load_personas(tmp_path)] == ["bard", "poet"]


def test_a_folder_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert load_personas(tmp_path / "none") == ()


def test_two_of_a_folder_cannot_answer_to_the_same(tmp_path: Path) -> None:
    write(tmp_path, POET)
    rival = POET.replace("poet", "bard").replace("Poet", "Bard").replace("Verse W", "verse-w")
    write(tmp_path, rival, "bard")
    with pytest.raises(InputError, match=r"bard and poet .* 'Verse Writer'|'verse-writer'"):
        load_personas(tmp_path)


@pytest.mark.parametrize(
    ("task_type", "does"),
    [("chat/text", True), ("doc/json", True), ("chat/json", False), ("code/text", False)],
)
def test_a_persona_fits_what_its_task_types_say(tmp_path: Path, task_type: str, does: bool) -> None:
    assert fits(load_persona(write(tmp_path, POET)), task_type) is does


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Fact Checker", "fact-checker"),
        ("FactChecker", "fact_checker"),
        ("  JSON  Writer ", "json writer"),
        ("Summarizer", "summariser"),
        ("Localization Expert", "localisation expert"),
        ("Ｅｄｉｔｏｒ", "Editor"),
    ],
)
def test_spellings_of_one_name_are_one(first: str, second: str) -> None:
    assert spelling(first) == spelling(second)


@pytest.mark.parametrize("word", ["prize", "size", "citizen", "Wizard"])
def test_other_words_with_a_z_keep_it(word: str) -> None:
    assert "z" in spelling(word)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Senior Python Developer", {"python", "developer"}),
        ("Translator of Poems", {"translator", "poem"}),
        ("Tests Writer", {"test", "writer"}),
        ("Bus Expert", {"bus"}),
        ("Lead Assistant", set[str]()),
    ],
)
def test_rank_order_and_plurals_say_nothing_of_a_skill(name: str, words: set[str]) -> None:
    assert skill(name) == words


@given(st.text(max_size=40))
def test_spelling_a_spelling_changes_nothing(name: str) -> None:
    assert spelling(spelling(name)) == spelling(name)
