"""Patterns and words are read from folders, and their places decide nothing but their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.parl.data.generate import Corpus, mix, read_corpus

SAMPLE = Path(__file__).with_name("sample")
MORE = """
kind chain
with x = pets
ask Wash {x}, then dry it
step a = Vet: Wash {x}
step b = Vet: Dry {x} < a

kind chain
with x = pets
ask Find {x}, then feed it
step a = Vet: Find {x}
step b = Vet: Feed {x} < a
"""
"""More of a kind that the sample has: a draw among patterns of one kind depends on their order."""


def test_folders_inside_are_read(tmp_path: Path) -> None:
    corpus = laid_out(tmp_path, {"chain/home/some.txt": MORE}, "animals/")
    assert corpus.errors == ()
    assert {found.location for found in corpus.patterns} == {
        "patterns/chain/home/some.txt:2",
        "patterns/chain/home/some.txt:8",
    }


def test_what_is_no_text_file_is_left_out(tmp_path: Path) -> None:
    corpus = laid_out(tmp_path, {"chain/some.txt": MORE, "chain/README.md": "no pattern"})
    assert (len(corpus.patterns), corpus.errors) == (2, ())


def test_an_error_names_the_folder(tmp_path: Path) -> None:
    (error,) = laid_out(tmp_path, {"chain/name.txt": "kind a\nask {y}"}).errors
    assert error.problem == "patterns/chain/name.txt:2: {y} has no `with` line before it."


def test_a_list_has_one_home_among_all_folders(tmp_path: Path) -> None:
    laid_out(tmp_path, {}, "animals/")
    (error,) = laid_out(tmp_path, {}, "zoo/").errors
    assert error.problem == "words/zoo/some.txt: list pets is in words/animals/some.txt already."


@pytest.mark.parametrize("backwards", [False, True])
def test_a_draw_does_not_depend_on_which_file_holds_a_block(
    tmp_path: Path, backwards: bool
) -> None:
    basic = (SAMPLE / "patterns" / "basic.txt").read_text("utf-8")
    blocks = f"{basic}\n{MORE}".strip().split("\n\n")
    words = (SAMPLE / "words" / "basic.txt").read_text("utf-8")
    together = laid_out(tmp_path / "together", {"all.txt": "\n\n".join(blocks)}, words=words)
    numbers = range(len(blocks), 0, -1) if backwards else range(1, len(blocks) + 1)
    files = {f"{n % 3}/{n:02}.txt": block for n, block in zip(numbers, blocks, strict=True)}
    apart = laid_out(tmp_path / "apart", files, words=words)
    assert together.errors == apart.errors == ()
    assert [pattern.file for pattern in together.patterns] != [
        pattern.file for pattern in apart.patterns
    ]
    assert mix(together.patterns, 5, 80) == mix(apart.patterns, 5, 80)


def laid_out(
    folder: Path, patterns: dict[str, str], place: str = "", words: str = "[pets]\na cat\na dog\n"
) -> Corpus:
    """Write the files, the words below a place of their own, and read them all."""
    (folder / "patterns").mkdir(parents=True, exist_ok=True)
    files = {f"words/{place}some.txt": words}
    files |= {f"patterns/{name}": text for name, text in patterns.items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return read_corpus(folder)
