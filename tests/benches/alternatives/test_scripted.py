from __future__ import annotations

import json

from alternatives.scripted import BAD_ITEM, BAD_VALUE, RIGHT_CODE, WRONG_CODE, answer, mark


def test_the_last_mark_says_what_is_asked() -> None:
    assert mark(["You research.", "[research 3] and then\n[join] Compare"]) == ("join", "")
    assert mark(["Research this: [research 12]"]) == ("research", "12")
    assert mark(['Score this: [item "elm"]']) == ("item", "elm")


def test_a_prompt_without_a_mark_asks_for_nothing() -> None:
    assert mark(["Say hello"]) == ("", "")


def test_code_is_right_only_once_the_failure_is_seen() -> None:
    assert answer("coding", "", 0, ["Write add"]) == WRONG_CODE
    assert answer("coding", "", 1, ["Write add"]) == WRONG_CODE
    assert answer("coding", "", 1, ["Write add", "AssertionError: -1"]) == RIGHT_CODE


def test_the_first_score_of_one_item_is_no_number() -> None:
    assert json.loads(answer("item", BAD_ITEM, 0, []))["score"] == BAD_VALUE
    assert json.loads(answer("item", BAD_ITEM, 1, []))["score"] == len(BAD_ITEM)
    assert json.loads(answer("item", "elm", 0, []))["score"] == 3
