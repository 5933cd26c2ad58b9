"""How paths in storage blocks are written, and told from paths of local files."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.inputs.reading import FilesRead, joined_reads, split_inputs, split_paths
from prefect_swarm.inputs.storage_paths import (
    StoragePath,
    is_storage_path,
    parse_output_folder,
    parse_storage_paths,
)


@pytest.mark.parametrize(
    ("written", "block", "path", "folder"),
    [
        ("s3-bucket/reports:tonight/", "s3-bucket/reports", "tonight/", "tonight"),
        ("s3-bucket/reports:", "s3-bucket/reports", "", ""),
        ("s3-bucket/reports:a/b.csv", "s3-bucket/reports", "a/b.csv", None),
        ("smb/r-1:a/*.csv", "smb/r-1", "a/*.csv", "a"),
        ("smb/r-1:**/*.csv", "smb/r-1", "**/*.csv", ""),
        ("smb/r-1:a: b.csv", "smb/r-1", "a: b.csv", None),
    ],
)
def test_a_path_has_a_block_and_what_is_fetched_of_it(
    written: str, block: str, path: str, folder: str | None
) -> None:
    [parsed] = parse_storage_paths([written, written])
    assert parsed == StoragePath(block, path)
    assert parsed.folder == folder
    assert str(parsed) == written


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../x", "/etc/passwd", "a//b", "./a", "s3://other/x", "a\0b", "/", "a/*/../x"],
)
def test_no_path_leads_out_of_its_storage(path: str) -> None:
    with pytest.raises(InputError, match="not one inside the storage"):
        parse_storage_paths([f"s3-bucket/reports:{path}"])


@pytest.mark.parametrize(
    "text", ["notes.md", "a/b", "https://host/x", "C:/x", "S3/Reports:x", "a/b/c:x", "~/a:b", ""]
)
def test_other_texts_are_no_such_paths(text: str) -> None:
    assert not is_storage_path(text)
    with pytest.raises(InputError, match=r"Write TYPE/NAME:PATH, such as s3-bucket/reports:"):
        parse_storage_paths([text])


def test_a_file_of_that_very_name_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "may:one").write_text("x")
    assert split_paths(["logs/may:one", "logs/may:two"]) == (["logs/may:one"], ["logs/may:two"])


def test_patterns_that_exclude_hold_for_both() -> None:
    assert split_paths(["a.md", "!*.log", "s3-bucket/r:x/"]) == (
        ["a.md", "!*.log"],
        ["s3-bucket/r:x/", "!*.log"],
    )
    assert split_paths(["s3-bucket/r:x/", "!*.log"]) == ([], ["s3-bucket/r:x/", "!*.log"])


def test_a_text_by_name_is_a_text_whatever_it_looks_like() -> None:
    by_name = {"claim": "s3-bucket/r:x"}
    assert split_inputs(by_name) == (by_name, [])
    assert split_inputs("s3-bucket/r:x") == (None, ["s3-bucket/r:x"])
    assert split_inputs(None) == (None, [])


def test_two_reads_are_one_if_no_name_is_in_both() -> None:
    first, second = (
        FilesRead({"a": "x"}, "Left out 1.", ("u", "v")),
        FilesRead({"b": "y"}, "", ("v",)),
    )
    assert joined_reads(first, second) == FilesRead({"a": "x", "b": "y"}, "Left out 1.", ("v",))
    with pytest.raises(InputError, match="given twice"):
        joined_reads(first, first)


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("s3-bucket/out:", ""),
        ("s3-bucket/out:a/b/", "a/b"),
        ("s3-bucket/out:{date}/{run}-{run}", "2026-11-28/r1-r1"),
    ],
)
def test_the_folder_of_an_output_has_the_run_and_the_date_in_it(written: str, path: str) -> None:
    assert parse_output_folder(written, "r1", "2026-11-28") == StoragePath("s3-bucket/out", path)
