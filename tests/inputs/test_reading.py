"""Files and folders as inputs: what is read, and what is an error before any model is asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from picture_files import picture_bytes
from prefect_swarm.errors import InputError
from prefect_swarm.inputs import contents as limits
from prefect_swarm.inputs import folders, reading
from prefect_swarm.inputs.pictures import picture_of
from prefect_swarm.inputs.reading import (
    check_inputs,
    merged_inputs,
    read_file,
    read_files,
    read_inputs,
    read_paths,
    reading_notes,
)
from pydantic_ai import BinaryContent


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    (root := tmp_path / "papers").mkdir()
    (root / "b.md").write_text("# B")
    (root / "a.txt").write_text("A")
    (root / ".hidden").write_text("no")
    (root / "old").mkdir()
    (root / "old" / "a.txt").write_text("old A")
    return root


def problem(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_paths(paths)
    assert caught.value.fix
    return str(caught.value)


def test_files_are_read_in_the_order_given(papers: Path) -> None:
    assert read_paths([papers / "b.md", papers / "a.txt"]) == {"b.md": "# B", "a.txt": "A"}


def test_a_folder_gives_its_files_sorted_and_no_hidden_ones(papers: Path) -> None:
    assert read_paths([papers]) == {"a.txt": "A", "b.md": "# B", "old/a.txt": "old A"}


def test_what_is_given_twice_counts_once(papers: Path) -> None:
    assert len(read_paths([papers, papers / "b.md", papers])) == 3


def test_a_file_that_is_missing_is_named(papers: Path) -> None:
    assert f"input {papers / 'c.md'} can't be read: No such file" in problem(papers / "c.md")


def test_a_file_of_two_gigabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(2 << 30)
    assert f"{large} has 2.0 GiB, and a file may have 32.0 MiB" in problem(large)


def opened(path: Path, mode: str) -> None:
    pytest.fail(f"{path} was opened")


def test_no_byte_of_a_file_that_is_too_large_is_read(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 2)
    monkeypatch.setattr(Path, "open", opened)
    assert "b.md has" in problem(papers / "b.md")


def test_texts_that_are_too_large_together_are_refused(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_TEXT_BYTES", 3)
    assert "and a run takes" in problem(papers)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe or a device" in problem(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("../secret.txt", "leads out of the folder"),
        ("..", "leads out of the folder"),
        ("nothing", "leads nowhere"),
        ("z.txt", "leads nowhere"),
    ],
)
def test_a_link_that_leads_elsewhere_is_left_out_and_named(
    target: str, why: str, papers: Path
) -> None:
    (papers.parent / "secret.txt").write_text("secret")
    (papers / "z.txt").symlink_to(target)
    read = read_files([papers])
    assert len(read.texts) == 3
    assert read.left_out == f"Left out 1 of 4 files: {papers / 'z.txt'} is a link that {why}."


@pytest.mark.parametrize("target", [".hidden", "old/a.txt"])
def test_a_link_gives_nothing_that_its_target_would_not(target: str, papers: Path) -> None:
    (papers / "z.txt").symlink_to(target)
    read = read_files([papers], ["old"])
    assert (set(read.texts), read.left_out) == ({"a.txt", "b.md"}, "")


def test_a_link_within_the_folder_adds_nothing(papers: Path) -> None:
    (papers / "c.md").symlink_to(papers / "b.md")
    (papers / "new").symlink_to(papers / "old")
    assert len(read_paths([papers])) == 3


def test_a_folder_with_too_many_files_is_refused(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_FILES", 2)
    assert "3 files were given, and a run takes 2" in problem(papers)


def test_a_folder_is_not_searched_without_end(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_FOUND", 2)
    assert "has more than 2 files" in problem(papers)
    assert len(read_files([papers], ["old"]).texts) == 2


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    assert "has no files that can be given" in problem(tmp_path)


def test_what_a_folder_has_and_cannot_be_given_is_left_out_in_a_line_that_is_bounded(
    papers: Path,
) -> None:
    (papers / "logo.png").write_bytes(b"\x89PNG\0")
    (papers / "old" / "__init__.py").touch()
    (papers / "x.json").write_text("{")
    (papers / "y.txt").write_bytes("Zürich".encode("latin-1"))
    os.mkfifo(papers / "z")
    read = read_files([papers])
    assert list(read.texts) == ["a.txt", "b.md", "old/a.txt"]
    assert read.left_out == (
        f"Left out 5 of 8 files: {papers}/logo.png is a binary file; "
        f"{papers}/old/__init__.py is empty; {papers}/x.json is not JSON: Expecting property name "
        "enclosed in double quotes in line 1, column 2; and 2 more."
    )


@pytest.mark.parametrize(
    ("name", "data", "why"), [("a.py", b"", "is empty"), ("a.png", b"\0", "is a binary file")]
)
def test_a_file_that_is_named_itself_is_an_error_where_a_folder_s_is_left_out(
    name: str, data: bytes, why: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    assert why in problem(tmp_path / name)
    assert "None of these files can be given. Left out 1 of 1 file" in problem(tmp_path)


def test_a_pattern_gives_what_fits_by_its_path_from_the_folder_before_it(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(papers.parent)
    assert read_paths(["papers/**/*.txt"]) == {"a.txt": "A", "old/a.txt": "old A"}
    assert read_paths(["papers/*.txt"]) == {"a.txt": "A"}
    assert read_paths(["*/old/*"]) == {"papers/old/a.txt": "old A"}
    assert "The pattern papers/*.pdf fits no file" in problem(Path("papers/*.pdf"))


def test_a_file_with_a_pattern_s_characters_in_its_name_is_that_file(papers: Path) -> None:
    (papers / "n[1].md").write_text("one")
    (papers / "n1.md").write_text("other")
    assert read_paths([papers / "n[1].md"]) == {"n_1_.md": "one"}


def test_a_folder_with_a_pattern_s_characters_in_its_name_is_that_folder(papers: Path) -> None:
    (odd := papers / "[old] *").mkdir()
    (odd / "c.md").write_text("C")
    assert read_paths([f"{odd}/*.md"]) == {"c.md": "C"}
    assert read_paths([f"{odd}/**/*.md", f"{papers}/ol?/*"]) == {"c.md": "C", "old/a.txt": "old A"}


def test_a_path_that_no_system_has_is_an_error() -> None:
    assert "can't be read: embedded null byte" in problem(Path("a\0b"))


def test_what_is_excluded_is_not_read_and_what_excludes_nothing_is_said(papers: Path) -> None:
    read = read_files([str(papers), "!old"], ["*.md", "*.log"])
    assert (dict(read.texts), read.unused) == ({"a.txt": "A"}, ("*.log",))
    assert reading_notes(read) == ["Nothing was left out for '*.log': it fits no file."]
    assert reading_notes(read, read_files([papers], ["old"])) == []


def test_files_of_one_name_have_their_folders_in_front(papers: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    (other / "a.txt").write_text("A2")
    assert set(read_paths([papers, other])) == {
        "papers/a.txt",
        "b.md",
        "old/a.txt",
        "other/a.txt",
    }


def test_what_is_left_out_of_a_folder_is_logged_where_python_gives_it(
    papers: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (papers / "empty.txt").touch()
    assert len(read_inputs([papers])) == 3
    assert [record.message for record in caplog.records] == [
        f"Left out 1 of 4 files: {papers / 'empty.txt'} is empty."
    ]


def test_python_gives_texts_and_files_by_name(papers: Path) -> None:
    assert read_inputs({"claim": "It rained.", "b": papers / "b.md"}) == {
        "claim": "It rained.",
        "b": "# B",
    }


def test_python_gives_files_alone(papers: Path) -> None:
    only = {"b.md": "# B"}
    assert read_inputs([papers / "b.md"]) == only
    assert read_inputs(papers / "b.md") == only  # type: ignore[arg-type]
    assert read_inputs(str(papers / "b.md")) == only


def test_a_folder_is_no_file(papers: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_file(papers)


@pytest.mark.parametrize(
    ("inputs", "why"),
    [({"a,b": "x"}, "has ','"), ({"a": " "}, "input a is empty"), ({"S1": "x"}, "step")],
)
def test_what_is_given_by_name_is_checked(inputs: dict[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        check_inputs(inputs)


def test_pictures_are_read_from_folders_from_paths_and_from_memory(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(picture_bytes())
    (tmp_path / "note.txt").write_text("hello")
    from_folder = read_inputs([tmp_path])
    in_memory = BinaryContent(picture_bytes(), media_type="image/png")
    by_name = read_inputs({"shot.png": in_memory, "again.png": tmp_path / "shot.png"})
    assert set(by_name.values()) == {from_folder["shot.png"]}
    assert picture_of(from_folder["shot.png"]) is not None


def test_a_file_in_memory_is_what_its_bytes_say() -> None:
    wrong = BinaryContent(picture_bytes("JPEG"), media_type="image/png")
    made = picture_of(read_inputs({"shot": wrong})["shot"])
    assert made is not None
    assert made.media_type == "image/jpeg"


def test_a_picture_that_is_given_as_a_text_is_checked() -> None:
    with pytest.raises(InputError, match="input shot"):
        read_inputs({"shot": "data:image/png;base64,AAAA"})
    with pytest.raises(InputError, match="input shot"):
        merged_inputs({"shot": "data:image/png;base64,AAAA"}, {})
