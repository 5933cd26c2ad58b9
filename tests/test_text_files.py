"""A text file is read as UTF-8, and what is not is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.files import read_text


def test_line_ends_become_newlines_and_the_mark_goes(tmp_path: Path) -> None:
    (path := tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"
    assert read_text(path, whole=True).startswith("\N{ZERO WIDTH NO-BREAK SPACE}a")


@pytest.mark.parametrize(
    ("data", "place", "to_do"),
    [
        (b"one\ncaf\xe9", "byte 8 is 0xe9, in line 2", "iconv -f LATIN1"),
        ("text".encode("utf-16"), "byte 1 is 0xff, in line 1", "UTF-16"),
        (b"PK\0\x03\xff", "byte 5 is 0xff, in line 1", "binary file"),
    ],
)
def test_the_byte_that_is_not_utf8_is_named(
    data: bytes, place: str, to_do: str, tmp_path: Path
) -> None:
    (path := tmp_path / "a").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_text(path, "plan")
    assert caught.value.problem == f"The plan {path} can't be read as UTF-8: {place}."
    assert to_do in caught.value.fix


def test_what_is_in_the_way_decides_the_advice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No such file or directory\. Look on the worker\."):
        read_text(tmp_path / "gone", advice="Look on the worker.")
    with pytest.raises(InputError, match=r"Is a directory\. Give a file, not a folder\."):
        read_text(tmp_path)
