"""Models are shown pictures of the kinds and sizes that all providers take."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.toolsets.shown import (
    MOST_BYTES,
    bare,
    picture_of,
    pictures_in,
    restored,
    text_of,
)
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
)
from raw_mcp_server import PICTURE

JPEG = b"\xff\xd8\xff\xe0 and so on"


def wide(width: int) -> bytes:
    return PICTURE[:16] + width.to_bytes(4, "big") + PICTURE[20:]


@pytest.mark.parametrize(
    ("data", "named", "kind"),
    [
        (PICTURE, "image/png", "image/png"),
        (JPEG, "image/png", "image/jpeg"),
        (JPEG, "application/octet-stream", "image/jpeg"),
        (b"GIF89a\1\0\1\0", "image/gif", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", "image/webp"),
        (wide(8000), "image/png", "image/png"),
        (wide(8001), "image/png", None),
        (b"GIF89a\1\0\xff\xff", "image/gif", None),
        (b"<svg/>", "image/svg+xml", None),
        (b"RIFF\0\0\0\0WAVE", "audio/wav", None),
        (b"", "image/png", None),
        (PICTURE + b"0" * MOST_BYTES, "image/png", None),
    ],
)
def test_the_kind_is_that_of_the_data(data: bytes, named: str, kind: str | None) -> None:
    picture = picture_of(BinaryContent(data, media_type=named))
    assert (picture and picture.media_type) == kind


def test_pictures_are_found_wherever_they_stand_in_a_result() -> None:
    content = BinaryContent(PICTURE, media_type="image/png")
    sound = BinaryContent(b"RIFF", media_type="audio/wav")
    value = ToolReturn(["a", content, [sound, content]], content=["b", content])
    assert len(pictures_in(value)) == 3
    assert pictures_in({"a": 1}) == pictures_in("text") == pictures_in(None) == []


def test_messages_are_written_without_the_data_of_pictures_and_get_it_back() -> None:
    picture = picture_of(BinaryContent(PICTURE, media_type="image/png"))
    assert picture is not None
    part = ToolReturnPart("look", ["Here it is.", picture], tool_call_id="1")
    written: Any = bare(ModelMessagesTypeAdapter.dump_python([ModelRequest([part])], mode="json"))
    assert "iVBOR" not in str(written)
    [read] = ModelMessagesTypeAdapter.validate_python(
        restored(written, {picture.identifier: PICTURE}.get)
    )
    assert getattr(read.parts[0], "content", None) == ["Here it is.", picture]
    [gone] = ModelMessagesTypeAdapter.validate_python(restored(written, {}.get))
    content = getattr(gone.parts[0], "content", None)
    assert content == ["Here it is.", f"[{picture.identifier} isn't shown]"]
    assert text_of(content) == f"Here it is.\n[{picture.identifier} isn't shown]"


def test_arguments_that_look_like_a_picture_stay_as_the_model_wrote_them() -> None:
    picture = {"kind": "binary", "identifier": "picture-0.png", "data": "QUJD"}
    answer = ModelResponse(
        [ToolCallPart("send", {"it": picture, "other": {**picture, "data": ""}})]
    )
    written = ModelMessagesTypeAdapter.dump_python([answer], mode="json")
    assert restored(bare(written), {"picture-0.png": PICTURE}.get) == written
