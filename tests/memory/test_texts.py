"""A text is found in a file however deep JSON has escaped it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prefect_swarm.memory.erasure import has_any, plain


@pytest.mark.parametrize(
    "text", ['Zoë said "hi"\n\ttwice', "a\\b", "a\\q", "plain", "𝄞 clef", "{x: /y}"]
)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_what_json_has_escaped_is_found(text: str, depth: int, tmp_path: Path) -> None:
    held = f"before {text} after"
    for _ in range(depth):
        held = json.dumps({"result": held})
    (path := tmp_path / "file").write_text(held, "utf-8")
    assert has_any(path, ["nothing", text.upper() if text == "plain" else text])
    assert not has_any(path, ["beforehand"])


def test_bytes_that_are_no_text_are_no_error(tmp_path: Path) -> None:
    (path := tmp_path / "file").write_bytes(b"\xff\xd8 xylophone \x00")
    assert has_any(path, ["xylophone"])
    assert plain("\\ud83d") != ""
