"""A cut answer and its continuation become one text."""

from __future__ import annotations

import pytest
from prefect_swarm.plan.task_ir import OutputKind
from prefect_swarm.tasks.subagent.answer import cut_mark, joined, resume_point

OPEN_BLOCK = "```python\ndef depth() -> int:\n"


@pytest.mark.parametrize(
    ("text", "kind", "kept"),
    [
        ("The harbour of the old to", "text", "The harbour of the old "),
        ("The harbour of the old ", "text", "The harbour of the old "),
        ("# Harbours\n\nThey", "text", "# Harbours\n\n"),
        ("def depth():\n    deep = 3\n    ret", "python", "def depth():\n    deep = 3\n"),
        ('{"depth": 3, "wid', "json", '{"depth": 3, "wid'),
        ("港口很古老而且位于河口", "text", "港口很古老而且位于河口"),
        ("Deep harbourwithaverylongname", "text", "Deep harbourwithaverylongname"),
    ],
)
def test_a_text_is_resumed_where_it_is_whole(text: str, kind: OutputKind, kept: str) -> None:
    assert resume_point(text, kind) == kept


@pytest.mark.parametrize(
    ("begun", "continued", "whole"),
    [
        ("It is ", "deep.", "It is deep."),
        ("It is ", " deep.", "It is deep."),
        ("It is dee", "p.", "It is deep."),
        ("# Harbours\n", "\nThey are deep.", "# Harbours\nThey are deep."),
        ("def depth():\n", "    return 3\n", "def depth():\n    return 3\n"),
    ],
)
def test_a_continuation_is_put_behind_the_text(begun: str, continued: str, whole: str) -> None:
    assert joined(begun, continued) == whole


def test_words_that_are_said_again_are_there_once() -> None:
    begun = "It lies at the mouth of a river "
    assert joined(begun, "the mouth of a river and is deep.") == f"{begun}and is deep."


def test_a_few_letters_that_are_the_same_are_no_repetition() -> None:
    assert joined("The sea, the ", "the tides") == "The sea, the the tides"


def test_a_block_that_is_opened_again_goes_on() -> None:
    assert joined(OPEN_BLOCK, "```python\n    return 3\n```") == f"{OPEN_BLOCK}    return 3\n```"


def test_a_fence_that_ends_a_block_is_kept() -> None:
    assert joined(OPEN_BLOCK, "```\nThat is all.") == f"{OPEN_BLOCK}```\nThat is all."


def test_a_block_that_is_opened_outside_of_one_is_kept() -> None:
    begun = f"{OPEN_BLOCK}    return 3\n```\n"
    continued = "```python\nassert depth() == 3\n```"
    assert joined(begun, continued) == begun + continued


def test_a_mark_says_after_how_many_tokens_a_text_was_cut_off() -> None:
    assert cut_mark(12000) == "\n\n[The text was cut off here, after 12,000 tokens.]"
