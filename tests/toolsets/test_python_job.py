"""Forged results of code are stopped."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from picture_files import picture_bytes
from prefect_swarm.gates.sandbox import ProgramResult, refuse_files
from prefect_swarm.gates.sandbox.launcher.wire import pack
from prefect_swarm.inputs.pictures import Picture, picture_text
from prefect_swarm.toolsets.python import (
    MOST_FILES,
    file_name_problem,
    input_paths,
    outcome_of,
    program_of,
)

pieces = st.sampled_from(["..", ".", "/", "a", "b", "a/b", ".x", "\0", "\n", "\u202e", "\udcff"])
paths = st.lists(pieces | st.text(max_size=5), max_size=6).map("".join)


def result_with(frame: bytes | None) -> ProgramResult:
    files = {} if frame is None else {"result": frame}
    return ProgramResult(0, None, "", "", None, 0.1, files, "namespaces")


def frame_of(files: dict[str, bytes], state: bytes = b"", **fields: Any) -> bytes:
    header = {"value": None, "error": "", "files": [*files], **fields}
    return pack(header, [state, *files.values()])


def test_what_is_as_it_must_be_is_taken() -> None:
    outcome = outcome_of(result_with(frame_of({"a/b.txt": b"x"}, b"state", value="1")))
    assert outcome.finished is not None
    assert (outcome.finished.value, outcome.state, outcome.files) == (
        "1",
        b"state",
        {"a/b.txt": b"x"},
    )


@given(st.lists(paths, max_size=8))
def test_no_name_of_a_file_leads_anywhere_else(names: list[str]) -> None:
    outcome = outcome_of(result_with(frame_of(dict.fromkeys(names, b"x"))))
    assert outcome.finished is not None
    assert {*outcome.files, *outcome.finished.refused} == set(names)
    for name in outcome.files:
        assert PurePosixPath("/work", name).is_relative_to("/work")
        assert ".." not in name.split("/")
        name.encode()
    folders = {str(parent) for name in outcome.files for parent in PurePosixPath(name).parents}
    assert not folders & outcome.files.keys()
    refuse_files(outcome.files, 0, 1)


@pytest.mark.parametrize(
    "frame",
    [
        None,
        b"",
        b"\0" * 7,
        b"\xff" * 20,
        pack([], [b""]),
        pack({"files": []}),
        pack({"files": ["a"]}, [b""]),
        pack({"files": [1]}, [b"", b"x"]),
        pack({"files": [], "error": 1}, [b""]),
        pack({"files": [], "more": 1}, [b""]),
        frame_of({str(n): b"" for n in range(MOST_FILES + 1)}),
        frame_of({"a": bytes((16 << 20) + 1)}),
        frame_of({}, bytes((16 << 20) + 1)),
    ],
)
def test_what_cannot_be_is_no_end(frame: bytes | None) -> None:
    assert outcome_of(result_with(frame)).finished is None


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_taken(data: bytes) -> None:
    head = json.dumps({"header": {"files": []}, "sizes": [0]}).encode()
    for frame in (data, len(head).to_bytes(8, "big") + data, head + data):
        assert outcome_of(result_with(frame)).finished is None


@given(st.dictionaries(st.text(max_size=12) | paths, st.text(max_size=5), max_size=8))
def test_each_input_has_a_path_of_its_own(texts: dict[str, str]) -> None:
    found = input_paths(texts)
    assert len(found) == len(texts)
    refuse_files(found, 0, 1)
    assert all(path.startswith("inputs/") and path.count("/") == 1 for path in found)


def test_inputs_without_room_are_left_out() -> None:
    assert list(input_paths({"a": "x" * (16 << 20), "b": "y"})) == ["inputs/a"]


def test_a_path_may_be_so_long_and_so_deep() -> None:
    assert file_name_problem("a/b/plot one.png") == ""
    assert file_name_problem("x" * 201) == "its path is too long"
    assert file_name_problem("/".join("x" * 9)) == "its path is too long"


def test_a_picture_among_the_inputs_is_a_file_with_its_own_data() -> None:
    shot = Picture("image/png", 40, 20, picture_bytes())
    scan = f"[page 1]\n{picture_text(shot)}"
    program = program_of(
        "1",
        1,
        state=b"",
        files={},
        inputs=input_paths({"shot.png": picture_text(shot), "scan.pdf": scan, "note": "hello"}),
        packages=(),
    )
    assert program.files["work/inputs/shot.png"] == shot.data
    assert program.files["work/inputs/scan.pdf"] == f"[page 1]\n{shot.label}".encode()
    assert program.files["work/inputs/note"] == b"hello"
