"""Templates are text, slots, alternatives and lists."""

from __future__ import annotations

import pytest
from prefect_swarm.parl.data.pattern import (
    Alternatives,
    Template,
    TemplateError,
    TemplateSlot,
    parse_template,
)


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("plain -> text | and } signs", ("plain -> text | and } signs",)),
        ("{x}", (TemplateSlot("x"),)),
        ("a {x.land|or|cap} b", ("a ", TemplateSlot("x", "land", filters=("or", "cap")), " b")),
        ("{x#}.", (TemplateSlot("x", number=True), ".")),
        ("<a|b>", (Alternatives((("a",), ("b",))),)),
        ("<a |>b", (Alternatives((("a ",), ())), "b")),
        ("<a|<b|{x}>>", (Alternatives((("a",), (Alternatives((("b",), (TemplateSlot("x"),))),))),)),
        ("{x: to {x}|or}", (TemplateSlot("x", body=("to ", TemplateSlot("x")), filters=("or",)),)),
        ("{x: <to|in> {y|cap}}", (
            TemplateSlot("x", body=(
                Alternatives((("to",), ("in",))), " ", TemplateSlot("y", filters=("cap",)),
            )),
        )),
        (r"a\nb", ("a\nb",)),
        (r"if a \< b \{x\} <c\|d|e>", ("if a < b {x} ", Alternatives((("c|d",), ("e",))))),
    ],
)  # fmt: skip
def test_a_template_is_parsed(text: str, template: Template) -> None:
    assert parse_template(text) == template


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a < b", r"`< b` isn't closed (`\<` is the plain character)"),
        ("<div>", r"`<div>` has only one alternative (`\<` is the plain character)"),
        ("{X}", r"`{X}` is not a slot (`\{` is the plain character)"),
        ("{x", "`{x` isn't closed"),
        ("{x y}", "`{x y}` isn't closed"),
        ("{x|}", "`{x|}` has no filter's name after `|`"),
        ("<a|{x: b>", "`{x: b>` isn't closed"),
    ],
)
def test_what_is_no_template_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_template(text)
    assert str(caught.value) == problem
