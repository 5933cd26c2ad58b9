"""An agent's name means a persona where it plainly does, and otherwise none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from persona_book import TEA, Book, persona
from prefect_swarm.memory.personas.model import fits, names_of, shipped_personas, skill
from prefect_swarm.memory.personas.registry import promote, retire

SHIPPED = shipped_personas()


def match_name(name: str, task_type: str = "", prompt: str = "You are somebody.") -> str | None:
    found = Book(shipped=SHIPPED).registry.match(name, prompt, task_type)
    return found.name if found else None


@pytest.mark.parametrize(
    ("name", "task_type", "who"),
    [
        # Its name and title, in any spelling.
        ("python-engineer", "code/python", "python-engineer"),
        ("Python Engineer", "code/python", "python-engineer"),
        ("PythonEngineer", "chat/python", "python-engineer"),
        ("FACT CHECKER", "chat/text", "fact-checker"),
        ("fact_checker", "chat/text", "fact-checker"),
        ("Summarizer", "doc/text", "summariser"),
        # Its aliases.
        ("Python Developer", "code/python", "python-engineer"),
        ("Backend Engineer", "code/python", "python-engineer"),
        ("Developer", "chat/python", "python-engineer"),
        ("Shell Expert", "manage/shell", "shell-engineer"),
        ("JSON Writer", "ingest/json", "data-extractor"),
        ("Tester", "code/python", "test-engineer"),
        ("Security Reviewer", "code/text", "code-reviewer"),
        ("Analyst", "chat/text", "comparison-analyst"),
        ("Proofreader", "doc/text", "editor"),
        ("Accountant", "chat/text", "estimator"),
        ("Namer", "chat/text", "idea-finder"),
        ("Project Manager", "manage/text", "planner"),
        ("Product Owner", "chat/text", "requirements-analyst"),
        ("Tabulator", "ingest/text", "table-maker"),
        # Rank and order.
        ("Senior Python Developer", "code/python", "python-engineer"),
        ("Experienced Fact Checker", "chat/text", "fact-checker"),
        ("Writer of Documentation", "doc/text", "technical-writer"),
        ("Lead Judge", "chat/text", "judge"),
        # The end of the name, where an alias has a star.
        ("Polish Translator", "chat/text", "translator"),
        ("Wine Judge", "chat/text", "judge"),
        ("Physics Researcher", "chat/text", "researcher"),
        ("Primary Teacher", "chat/text", "teacher"),
        ("Web Tester", "code/python", "test-engineer"),
        # Whoever isn't for the task isn't meant.
        ("Python Developer", "chat/text", None),
        ("Tester", "chat/text", None),
        ("Judge", "chat/json", None),
        ("Shell Expert", "code/python", None),
        # Half a name, another's name, no name.
        ("Tea Expert", "chat/text", None),
        ("Kotlin Developer", "code/python", None),
        ("Non-Python Developer", "code/python", None),
        ("Python", "chat/text", None),
        ("Writer", "chat/text", None),
        ("Film Reviewer", "chat/text", None),
        ("Judgement", "chat/text", None),
        ("Translators Guild", "chat/text", None),
        ("Expert", "chat/text", None),
        ("Senior Lead", "chat/text", None),
        ("!!!", "chat/text", None),
        ("", "chat/text", None),
    ],
)
def test_a_name_means_who_it_plainly_is(name: str, task_type: str, who: str | None) -> None:
    assert match_name(name, task_type) == who


def test_without_a_task_type_the_name_decides() -> None:
    assert match_name("Python Developer") == "python-engineer"


@pytest.mark.parametrize("who", SHIPPED, ids=lambda who: who.name)
def test_everything_a_persona_answers_to_means_it(who: object) -> None:
    shipped = next(found for found in SHIPPED if found is who)
    for pattern in shipped.task_types:
        task_type = pattern.replace("*", "chat")
        for name in names_of(shipped):
            assert match_name(name.removeprefix("* "), task_type) == shipped.name


@settings(max_examples=30)
@given(st.text(max_size=30), st.sampled_from(["chat/text", "code/python", "ingest/json", ""]))
def test_nobody_is_meant_who_shares_no_word(name: str, task_type: str) -> None:
    found = Book(shipped=SHIPPED).registry.match(name, "", task_type)
    if found is not None:
        assert not task_type or fits(found, task_type)
        assert any(skill(own.removeprefix("* ")) <= skill(name) for own in names_of(found))


def test_a_users_persona_comes_before_a_shipped_one() -> None:
    book = Book(users=[persona("wine-judge"), persona("mine", "Coder")], shipped=SHIPPED)
    found = book.registry.match("Wine Judge", "", "chat/text")
    assert found is not None
    assert found.name == "wine-judge"


def test_a_users_persona_replaces_the_shipped_one_of_its_name() -> None:
    own = persona("judge")
    book = Book(users=[own], shipped=SHIPPED)
    assert book.registry.known["judge"].origin == "user"
    assert book.registry.match("Judge", "", "chat/text") == own
    assert book.registry.match("Arbiter", "", "chat/text") is None


def test_where_two_are_meant_equally_none_is() -> None:
    book = Book(users=[persona("alpha", "Senior Poet"), persona("beta", "Junior Poet")])
    assert book.registry.match("Poet", "", "chat/text") is None


def test_a_candidate_is_meant_by_its_very_prompt() -> None:
    book = Book(shipped=SHIPPED)
    book.invent()
    again = book.registry.match("Tea  expert", f"  {TEA}\n", "chat/text")
    assert again is not None
    assert again.name == "tea-expert"
    assert book.registry.match("Tea Expert", "You are another.", "chat/text") is None
    assert book.registry.match("Tea Expert", TEA, "chat/json") is None


def test_a_promoted_persona_is_meant_by_its_name() -> None:
    book = Book(shipped=SHIPPED)
    book.invent()
    book.add(promote(book.registry, "tea-expert", at=0))
    found = book.registry.match("Senior Tea Expert", "You are another.", "chat/text")
    assert found is not None
    assert found.name == "tea-expert"


def test_of_two_promoted_ones_of_a_name_the_prompt_decides() -> None:
    book = Book(shipped=SHIPPED)
    names = book.invent(), book.invent(prompt="You are Tea Expert, and brief.")
    for name in names:
        book.add(promote(book.registry, name, at=0))
    found = book.registry.match("Tea Expert", "You are Tea Expert, and brief.", "chat/text")
    assert found is not None
    assert found.name == names[1] != names[0]
    assert book.registry.match("Tea Expert", "You are a third.", "chat/text") is None


@pytest.mark.parametrize("name", ["judge", "tea-expert"])
def test_a_retired_persona_is_never_meant(name: str) -> None:
    book = Book(shipped=SHIPPED)
    book.invent()
    book.add(retire(book.registry, name, at=0))
    title = book.registry.known[name].persona.title
    assert book.registry.match(title, TEA, "chat/text") is None
    assert name not in {usable.name for usable in book.registry.usable_personas("chat/text")}
