"""The corpus has what the questions ask for, and a script that reads it perfectly finds it."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from wide_search.corpus import Corpus
from wide_search.flaws import ORACLE, Flaws
from wide_search.questions import UNKNOWN, Question, hops, make_questions
from wide_search.reader import Reader
from wide_search.reading import facts_in, read_wanted
from wide_search.scoring import read_table, score_table
from wide_search.world import make_world

WORLD = make_world(7)
CORPUS = Corpus(WORLD.pages)
QUESTIONS = make_questions(WORLD, 7)


def read_alone(question: Question, flaws: Flaws = ORACLE) -> tuple[str, int]:
    """Have one reader answer without the runtime; its answer, and its requests."""
    reader, wanted = Reader(flaws), read_wanted(question.text)
    messages: list[ModelMessage] = []
    for request in range(1, 1_000):
        parts = reader.answer(wanted, question.text, messages, request, ("search", "open"))
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        if not calls:
            return "".join(part.content for part in parts if isinstance(part, TextPart)), request
        results = [
            ToolReturnPart(
                call.tool_name,
                getattr(CORPUS, call.tool_name)(*call.args_as_dict().values()),
                call.tool_call_id,
            )
            for call in calls
        ]
        messages += [ModelResponse(parts), ModelRequest(results)]
    raise AssertionError("It never answered.")


def test_a_seed_makes_the_same_pages_and_another_seed_others() -> None:
    assert make_world(7).pages == WORLD.pages
    assert make_world(8).pages != WORLD.pages
    assert len(WORLD.pages) >= 2_000


def test_each_fact_stands_on_some_page() -> None:
    written = {(f.name, f.attribute, f.value) for page in WORLD.pages for f in facts_in(page.text)}
    assert not {(*place, value) for place, value in WORLD.facts.items()} - written


def test_pages_contradict_each_other_and_the_newest_is_right() -> None:
    newest: dict[tuple[str, str], tuple[float, str]] = {}
    contradicted = 0
    for page in WORLD.pages:
        for fact in facts_in(f"[{page.id}] {page.title}\n\n{page.text}"):
            place = fact.name, fact.attribute
            if place in newest and newest[place][1] != fact.value:
                contradicted += 1
            newest[place] = max(newest.get(place, (-1.0, "")), (fact.at, fact.value))
    assert contradicted > 100
    assert all(newest[place][1] == value for place, value in WORLD.facts.items())


def test_some_values_stand_nowhere() -> None:
    cells = [cell for question in QUESTIONS for row in question.rows for cell in row.values()]
    assert 0 < cells.count(UNKNOWN) < len(cells) / 10


def test_a_question_of_each_shape_has_a_table_of_its_size() -> None:
    sizes = {question.id: (len(question.rows), len(question.columns)) for question in QUESTIONS}
    assert sizes["wide-1"] == (40, 5)
    assert sizes["deep-2"] == (1, 4)
    assert sizes["narrow-1"] == (1, 2)


def test_a_column_is_followed_from_its_end() -> None:
    assert hops("river of the birthplace of the head") == ("head", "birthplace", "river")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_a_perfect_reader_fills_nearly_the_whole_table(question: Question) -> None:
    answer, _ = read_alone(question)
    assert score_table(read_table(answer), question.rows, question.columns).item_f1 >= 0.98


def test_a_flawed_reader_is_worse_and_the_same_each_time() -> None:
    question = QUESTIONS[4]
    flaws = Flaws(misreads=0.2, seed=1)
    answer, _ = read_alone(question, flaws)
    assert score_table(read_table(answer), question.rows, question.columns).item_f1 < 0.95
    assert read_alone(question, flaws)[0] == answer
    assert read_alone(question, Flaws(misreads=0.2, seed=2))[0] != answer


def test_who_tires_stops_early() -> None:
    question = QUESTIONS[4]
    assert read_alone(question, Flaws(tires=0.01))[1] < read_alone(question)[1]
