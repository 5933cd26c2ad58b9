"""A bad part of a result costs no other part, and no call."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from mcp.types import CallToolResult
from prefect_swarm.toolsets.mcp.session import readable_result
from raw_mcp_server import PICTURE

BASE64 = base64.b64encode(PICTURE).decode()
TEXT = {"type": "text", "text": "hi"}


def texts(result: dict[str, Any]) -> list[str]:
    return [part["text"] for part in readable_result(result)["content"]]


@pytest.mark.parametrize(
    "result",
    [
        {"content": [TEXT, {"type": "image", "data": BASE64, "mimeType": "image/png"}]},
        {"content": [], "structuredContent": {"a": 1}, "isError": True},
        {"content": [{"type": "resource_link", "uri": "file:///x", "name": "x"}]},
        {"task": {"taskId": "1"}},
        {"content": 7},
    ],
)
def test_what_needs_no_change_is_not_changed(result: dict[str, Any]) -> None:
    assert readable_result(result) == result


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("plain", "plain"),
        ({"text": "hi"}, "hi"),
        ({"type": "text", "text": "hi", "annotations": {"priority": 7}}, "hi"),
        ({"type": "text", "text": None}, '{"type":"text","text":null}'),
        ({"type": "video", "data": "AAAA"}, '{"type":"video","data":"not shown"}'),
        (
            {"type": "image", "data": "***", "mimeType": "image/png"},
            '{"type":"image","data":"not shown","mimeType":"image/png"}',
        ),
    ],
)
def test_a_part_that_is_no_content_is_shown_as_a_text(part: Any, text: str) -> None:
    assert texts({"content": [TEXT, part]}) == ["hi", text]


@pytest.mark.parametrize(
    "data",
    [
        f"data:image/png;base64,{BASE64}",
        BASE64.rstrip("="),
        f"{BASE64[:20]}\n{BASE64[20:]}",
        base64.urlsafe_b64encode(PICTURE).decode(),
    ],
)
@pytest.mark.parametrize("named", [{}, {"mimeType": "image/png"}])
def test_a_picture_is_found_in_other_ways_to_write_bytes(data: str, named: Any) -> None:
    blob = {"type": "resource", "resource": {"uri": "file:///p", "blob": data, **named}}
    read = readable_result({"content": [{"type": "image", "data": data, **named}, blob]})
    image, resource = read["content"]
    assert [base64.b64decode(each) for each in (image["data"], resource["resource"]["blob"])] == [
        PICTURE
    ] * 2
    CallToolResult.model_validate(read)


@pytest.mark.parametrize(
    ("result", "read"),
    [
        ({"content": None, "structuredContent": {"a": 1}}, []),
        ({"structuredContent": [1, 2]}, ["[1,2]"]),
        ({"content": [TEXT], "structuredContent": [1, 2]}, ["hi"]),
        ({"content": "plain", "_meta": 7}, ["plain"]),
        ({"content": TEXT}, ["hi"]),
        ({}, []),
    ],
)
def test_what_is_around_the_content_costs_nothing(result: dict[str, Any], read: list[str]) -> None:
    assert texts(result) == read
    CallToolResult.model_validate(readable_result(result))
