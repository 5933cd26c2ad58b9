"""No name leads out of the folders."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.toolsets.document_reading import file_bytes, folder_labels, is_shown, parts_of

pieces = st.sampled_from(["..", ".", "/", "//", "~", "a", "b.md", ".git", "\\", "\0", "\n", "%2e"])
names = st.lists(pieces | st.text(max_size=6), max_size=8).map("".join)


@given(names)
@pytest.mark.attack("documents")
def test_a_name_is_refused_or_stays_inside(name: str) -> None:
    try:
        parts = parts_of(name)
    except InputError:
        return
    assert parts
    assert all(part not in ("", ".", "..") and "/" not in part for part in parts)
    assert all(map(is_shown, parts))
    joined = os.path.normpath(os.path.join("/root", *parts))
    assert joined.startswith("/root/")
    assert PurePath(joined).parts[2:] == parts


@given(names)
def test_nothing_is_read_but_what_the_folder_has(name: str) -> None:
    root = Path(__file__).parent
    try:
        data = file_bytes(root, parts_of(name))
    except (InputError, OSError):
        return
    assert data in [path.read_bytes() for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "/etc/passwd", "../x", "a/../../x", "a//b", ".git/config", "a/.env"),
        *("x\ny", "a/" * 40 + "b", "x" * 300, "\ud800"),
    ],
)
@pytest.mark.attack("documents")
def test_what_names_nothing_inside_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r".+"):
        parts_of(name)


def test_a_name_may_begin_with_a_point_and_end_with_a_slash() -> None:
    assert parts_of("./a/b.md") == ("a", "b.md")
    assert parts_of(" notes/ ") == ("notes",)


def test_several_folders_are_told_apart() -> None:
    assert folder_labels([PurePath("/x/docs")]) == ("",)
    folders = [PurePath("/x/docs"), PurePath("/y/docs"), PurePath("/z/.hidden"), PurePath("/")]
    assert folder_labels(folders) == ("docs", "docs-2", "hidden", "folder")
