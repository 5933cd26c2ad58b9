"""A tool's result as a model reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.shown import cut, result_text
from pydantic import BaseModel
from pydantic_ai.messages import BinaryContent, ToolReturn


class Price(BaseModel):
    of: str
    usd: float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "Done; there is no result."),
        (Price(of="tea", usd=3), '{"of":"tea","usd":3.0}'),
        ([1, "two"], '[1,"two"]'),
        ({"a": float("nan")}, '{"a":"NaN"}'),
        (BinaryContent(b"12345", media_type="image/png"), "[image/png, 5 bytes, not shown]"),
        (
            ["see", BinaryContent(b"1", media_type="image/png")],
            "see\n[image/png, 1 bytes, not shown]",
        ),
        (ToolReturn("short", content=["and more"]), "short\nand more"),
        ([], "[]"),
        (0, "0"),
    ],
)
def test_a_result_is_text(value: object, text: str) -> None:
    assert result_text(value) == text


def test_what_is_no_data_is_named() -> None:
    assert "object" in result_text(object())


@given(st.text(max_size=3000), st.integers(200, 1000))
def test_a_cut_text_keeps_its_beginning_and_end_and_is_hardly_longer(text: str, most: int) -> None:
    shown = cut(text, most)
    if len(text) <= most:
        assert shown == text
    else:
        assert len(shown) <= most + 60
        assert shown.startswith(text[: most - most // 5])
        assert shown.endswith(text[len(text) - most // 5 :])
        assert f"{len(text) - most:,} characters" in shown
