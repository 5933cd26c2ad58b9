"""An error's body is read wherever it has its words and codes."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.models.answers.provider_words import codes_of, is_page, message_of

_EXTRA = {
    "type": "extra_forbidden",
    "loc": ["body", "seed"],
    "msg": "Extra inputs are not permitted",
}
_BODIES: list[tuple[Any, str]] = [
    ({"error": {"message": "Busy.", "code": 429}}, "Busy."),
    ({"error": "Busy."}, "Busy."),
    ({"detail": "Not Found"}, "Not Found"),
    ({"detail": [_EXTRA]}, "body.seed: Extra inputs are not permitted"),
    ({"message": {"detail": [_EXTRA]}}, "body.seed: Extra inputs are not permitted"),
    ([{"error": {"code": 429, "message": "Quota."}}], "Quota."),
    ({"code": "no_permission", "error": "It violates."}, "It violates."),
    ({"status": 400, "error": "Bad Request", "message": "No such field."}, "No such field."),
    ({"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, "login fail"),
    ({"code": 20015, "message": "too long", "data": None}, "too long"),
    ({"errors": [{"message": "One."}, {"message": "Two."}]}, "One.; Two."),
    (
        {"error": {"message": "Provider returned error", "metadata": {"raw": "is rate-limited"}}},
        "Provider returned error: is rate-limited",
    ),
    (
        {"error": {"message": "Provider returned error", "metadata": {"raw": '{"message": "x"}'}}},
        "Provider returned error: x",
    ),
    ('{"error": {"message": "Busy."}}', "Busy."),
    (b'{"error": {"message": "Busy."}}', "Busy."),
    ("<html><title>502 Bad &amp; sad</title></html>", "a web page, '502 Bad & sad'"),
    ("<!DOCTYPE html><body>", "a web page"),
    ("upstream connect error", "upstream connect error"),
    ({"error": {"message": "", "type": "overloaded_error"}}, "overloaded_error"),
    ({}, ""),
    ([], ""),
    (None, ""),
    (7, ""),
]


@pytest.mark.parametrize(("body", "words"), _BODIES)
def test_the_words_of_a_body_are_found(body: object, words: str) -> None:
    assert message_of(body) == words


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        ({"error": {"code": 429}}, 429, "429"),
        ({"error": {"code": "503"}}, 503, "503"),
        ({"error": {"type": "Overloaded_Error"}}, None, "overloaded_error"),
        ({"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}, None, None),
        ([{"error": {"status": "RESOURCE_EXHAUSTED"}}], None, "resource_exhausted"),
        ({"error": {"metadata": {"raw": '{"error": {"code": 400}}'}}}, 400, "400"),
        ({"base_resp": {"status_code": 1002}}, None, "1002"),
        ("no body", None, None),
    ],
)
def test_the_codes_of_a_body_are_found(body: object, status: int | None, name: str | None) -> None:
    codes = codes_of(body)
    assert codes.status == status
    assert name is None or name in codes.names


def test_a_body_that_nests_itself_for_ever_is_read_in_bounded_depth() -> None:
    body: dict[str, Any] = {}
    body["error"] = body
    assert message_of(body) == ""
    assert codes_of(body).status is None


@pytest.mark.parametrize(("text", "is_one"), [("<!doctype html>", True), ('{"a": "<b>"}', False)])
def test_a_web_page_is_known(text: str, *, is_one: bool) -> None:
    assert is_page(text) is is_one
