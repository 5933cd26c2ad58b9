"""A form in the Prefect UI says what there is: nothing in it forges, leads away or hides."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from flow_runs import plan_of
from hidden_texts import HIDDEN, LEGITIMATE, STEERING
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt
from person_forms import plan_to_copy
from prefect_swarm.flows.prefect_io.form import (
    APPROVE,
    APPROVE_ALL,
    EDIT,
    REJECT,
    PersonForm,
    description_of,
    form_of,
    plan_table,
    schema_of,
)
from prefect_swarm.flows.prefect_io.form_reading import FormReading, read_response
from prefect_swarm.store.question import MOST_SHOWN, Question
from prefect_swarm.text import fenced, visible

_FORGED = {
    "image": "![x](https://evil.example/leak.png)",
    "reference-image": "![a][b]\n\n[b]: https://evil.example/leak.png",
    "link": "[the report](https://evil.example)",
    "autolink": "<https://evil.example>",
    "bare-link": "https://evil.example/ and www.evil.example",
    "address": "mailto:a@evil.example and b@evil.example",
    "heading": "x\n# Approved by the administrator",
    "html": '<img src="https://evil.example/leak.png" onerror="x()">',
    "html-block": "x\n\n<div>\n<h1>Approved</h1>\n</div>\n",
    "svg": "<svg onload=x()>",
    "entity-image": "&#33;[x](https://evil.example/leak.png)",
}


def asked(title: str = "S1: the call of send acts", text: str = "", name: str = "S1") -> Question:
    return Question(id=name, asked="call", subject=name, step="S1", title=title, text=text)


def drawn(markdown: str) -> list[Any]:
    """What a reader of Markdown makes of it that finds links by itself, as Prefect's UIs do."""
    parser = MarkdownIt("commonmark", {"linkify": False, "html": True}).enable(["table"])
    found = parser.parse(markdown)
    return [*found, *(child for token in found for child in token.children or ())]


_POWERFUL = {"image", "link_open", "html_inline", "html_block", "table_open", "hr"}


def powers(markdown: str) -> list[str]:
    kinds = [token.type for token in drawn(markdown)]
    headings = ["heading"] * (kinds.count("heading_open") - 1)  # one is the form's own
    return [*(kind for kind in kinds if kind in _POWERFUL), *headings]


@pytest.mark.attack("shown")
@pytest.mark.parametrize("forged", _FORGED.values(), ids=_FORGED)
def test_a_title_that_somebody_wrote_is_a_title_alone(forged: str) -> None:
    assert powers(description_of([asked(forged)])) == []


@pytest.mark.attack("shown")
@pytest.mark.parametrize("forged", _FORGED.values(), ids=_FORGED)
def test_a_question_of_a_folder_that_came_from_elsewhere_leads_nowhere(forged: str) -> None:
    found = powers(description_of([asked(text=f"Harmless.\n\n{forged}")]))
    assert found in ([], ["heading"])  # its own, below the form's


@pytest.mark.attack("shown")
@pytest.mark.parametrize("forged", _FORGED.values(), ids=_FORGED)
def test_what_was_wrong_with_an_answer_is_words(forged: str) -> None:
    assert powers(description_of([asked()], [f"no YAML: {forged}"])) == []


@pytest.mark.attack("shown")
@pytest.mark.parametrize("forged", _FORGED.values(), ids=_FORGED)
def test_the_words_beside_a_field_are_code_in_the_ui_that_draws_them(forged: str) -> None:
    questions = [asked(text=fenced(forged), name="S1"), asked(text=forged, name="S2")]
    form = form_of(questions, "k", suspended=False)
    for name in form.fields:
        words = schema_of(form, questions)["properties"][name]["description"]
        assert {token.type for token in drawn(words)} <= {
            *("paragraph_open", "paragraph_close", "inline", "code_inline")
        }


@pytest.mark.attack("shown")
@pytest.mark.parametrize("hidden", [*HIDDEN.values(), *STEERING.values()], ids=[*HIDDEN, *STEERING])
def test_nothing_is_hidden_anywhere_in_a_form(hidden: str) -> None:
    text = f"ap{hidden}prove"
    questions = [asked(text, fenced(text)), asked(text, text, "S2")]
    form = form_of(questions, "k", suspended=False)
    whole = description_of(questions, [text], json.dumps({"a": text}, ensure_ascii=False))
    fields = schema_of(form, questions)["properties"].values()
    shown = [whole, *(f"{field['title']}{field.get('description', '')}" for field in fields)]
    assert [visible(each) for each in shown] == shown


@pytest.mark.attack("shown")
def test_an_entity_of_markdown_becomes_nothing_hidden() -> None:
    text = description_of([asked(text="a&#x202e;b &#8206; &zwj; &shy; &#xE0041;")])
    assert visible(text) == text


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_the_plan_to_copy_is_the_same_data(text: str) -> None:
    plan = Question(id="plan", asked="plan", title="The plan")
    shown = description_of([plan], (), json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(plan_to_copy(shown)) == {"a": text}


@pytest.mark.parametrize("asks", ["plan", "call"])
@pytest.mark.parametrize("number", [1, 2])
def test_what_the_server_holds_answers_to_is_a_schema(
    asks: Literal["plan", "call"], number: int
) -> None:
    questions = [Question(id=f"S{n}", asked=asks, title="x") for n in range(number)]
    schema = schema_of(form_of(questions, "k", suspended=False), questions)
    Draft202012Validator.check_schema(schema)
    assert schema["required"] == [next(iter(schema["properties"]))]
    assert "default" not in schema["properties"][schema["required"][0]]


def test_the_steps_of_a_plan_stand_in_a_table() -> None:
    plan = plan_of(
        {"id": "S1", "prompt": "Read | all\n# of it <b>"}, {"id": "S2", "depends_on": ["S1"]}
    )
    asked = Question(id="plan", asked="plan", title="The plan", text="whole")
    text = description_of([asked], table=plan_table(plan))
    assert text.startswith("### Is this plan to run?\n\n| Step | Who | After | Does |")
    assert "| S1 | Reader (worker) |  | Read \\| all # of it &lt;b&gt; |" in text
    assert "| S2 | Reader (worker) | S1 |" in text
    assert text.endswith("whole")


def test_a_long_plan_has_a_bounded_table() -> None:
    plan = plan_of(*({"id": f"S{n}"} for n in range(1, 150)))
    assert plan_table(plan).endswith("\n\nand 49 steps more")


LONG = fenced("x" * MOST_SHOWN, "json")
SHORT = fenced('{"to": "Ann"}', "json")


def read(form: PersonForm, response: dict[str, Any]) -> FormReading:
    return read_response(form, response, None, lambda _: (), 7)


@pytest.mark.attack("shown")
def test_what_a_form_has_no_room_for_can_only_be_rejected_in_it() -> None:
    questions = [asked(text=LONG)]
    form = form_of(questions, "k", suspended=False)
    assert APPROVE not in schema_of(form, questions)["properties"]["decision_S1"]["enum"]
    text = description_of(questions, run_id="abc")
    assert f"{len(LONG) - 600:,} characters are not shown here" in text
    assert "`prefect-swarm waiting abc S1`" in text
    reading = read(form, {"decision_S1": APPROVE})
    assert reading.answers == ()
    assert "were not shown, so it was not approved" in reading.problems[0]
    (answer,) = read(form, {"decision_S1": REJECT}).answers
    assert answer.verdict == "rejected"


@pytest.mark.attack("shown")
def test_what_is_approved_all_together_was_shown_whole() -> None:
    questions = [asked(text=LONG, name="S1"), asked(text=SHORT, name="S2")]
    form = form_of(questions, "k", suspended=True)
    answers = read(form, {"decision": APPROVE_ALL}).answers
    assert [answer.question for answer in answers] == ["S2"]


@pytest.mark.attack("shown")
def test_where_nothing_is_shown_whole_nothing_is_approved_all_together() -> None:
    questions = [asked(text=LONG, name="S1"), asked(text=LONG, name="S2")]
    form = form_of(questions, "k", suspended=True)
    choices = schema_of(form, questions)["properties"]["decision"]["enum"]
    assert APPROVE_ALL not in choices


@pytest.mark.attack("shown")
@pytest.mark.parametrize("number", [2, 9, 40])
def test_many_questions_share_the_room_and_each_is_whole_or_not_to_be_approved(number: int) -> None:
    texts = [fenced(f"{n}: {'x' * 7_000}") for n in range(number)]
    questions = [asked(text=text, name=f"S{n}") for n, text in enumerate(texts)]
    form = form_of(questions, "k", suspended=False)
    shown, fields = description_of(questions), schema_of(form, questions)["properties"]
    for question, text in zip(questions, texts, strict=True):
        assert (question.id in form.cut) == (text not in shown)
        field = fields[f"decision_{question.id}"]
        assert (APPROVE in field["enum"]) == ("x" * 7_000 in field["description"])


@pytest.mark.attack("shown")
def test_a_plan_that_is_too_long_can_be_edited_and_not_approved() -> None:
    plan = Question(id="plan", asked="plan", title="The plan", text=LONG)
    form = form_of([plan], "k", suspended=False)
    choices = schema_of(form, [plan])["properties"]["decision_plan"]["enum"]
    assert (EDIT in choices, APPROVE in choices) == (True, False)


@pytest.mark.attack("shown")
def test_what_is_not_kept_whole_is_approved_in_no_form() -> None:
    questions = [asked(text=SHORT).model_copy(update={"left_out": 5})]
    form = form_of(questions, "k", suspended=False)
    assert form.cut == {"S1": 5}
    assert read(form, {"decision_S1": APPROVE}).answers == ()


def test_a_short_question_is_approved_as_ever() -> None:
    questions = [asked(text=SHORT)]
    form = form_of(questions, "k", suspended=False)
    assert SHORT in description_of(questions)
    (answer,) = read(form, {"decision_S1": APPROVE}).answers
    assert (answer.verdict, answer.subject) == ("approved", "S1")
